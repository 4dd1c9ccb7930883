"""Links in the kernel log: network links of mlx5 adapters that come and go, and PCIe links below what a device can do.

Formats: Linux, drivers/net/ethernet/mellanox/mlx5/core/en_main.c (mlx5e_update_carrier), net/8021q/vlan.c, drivers/pci/pci.c (__pcie_print_link_status).
"""

import re
from dataclasses import dataclass
from typing import Dict, List, Optional, Tuple

from clusterctl_validators.boot_log import MESSAGE_START, seconds_of, time_of

_ADDRESS = r"(?P<pci>[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])"
_LINK = re.compile(MESSAGE_START + r"mlx5_core " + _ADDRESS + r" (?P<interface>\S+)(?: \(\w+\))?: Link (?P<state>up|down)\s*$")
_DRIVER = re.compile(MESSAGE_START + r"mlx5_core " + _ADDRESS + r": firmware version: ")
_OPENED = re.compile(MESSAGE_START + r"8021q: adding VLAN 0 to HW filter on device (?P<interface>\S+)")
# Kernels before 5.7 leave out "PCIe" before the lanes; newer ones add ", in Flit mode" at the end.
_BANDWIDTH = re.compile(
    MESSAGE_START + r"\S+ " + _ADDRESS + r": (?P<gbps>\d+\.\d+) Gb/s available PCIe bandwidth"
    r"(?P<limited>, limited by (?P<speed>\S+)(?: GT/s)?(?: PCIe)? x(?P<lanes>\d+) link at (?P<at>\S+) \(capable of [^)]*\))?"
)
_GENERATIONS = {
    "2.5": 1,
    "5": 2,
    "5.0": 2,
    "8": 3,
    "8.0": 3,
    "16": 4,
    "16.0": 4,
    "32": 5,
    "32.0": 5,
    "64": 6,
    "64.0": 6,
    "128": 7,
    "128.0": 7,
}
# Between an interface's opening and the first state of its link that its driver logs; not confirmed on an adapter.
_OPENING_S = 2.0


@dataclass(frozen=True)
class LinkLoss:
    """A link that was up and went down; `time` as logged, empty without a year."""

    pci: str
    interface: str
    time: str


@dataclass(frozen=True)
class Bandwidth:
    """What a device's PCIe path had when the kernel looked.

    Attributes:
        generation, lanes: of the slowest link of the path; None where the path limits nothing.
        at: the device at that link.
    """

    pci: str
    gbps: float
    generation: Optional[int]
    lanes: Optional[int]
    at: str
    time: str


@dataclass(frozen=True)
class LinkEvents:
    """What the log has about links.

    Attributes:
        losses: in the order of the log.
        bandwidths: PCI address -> the newest line about it.
    """

    losses: Tuple[LinkLoss, ...]
    bandwidths: Dict[str, Bandwidth]


def parse(text: str) -> LinkEvents:
    """The events of a log."""
    lines = [line for line in text.splitlines() if "mlx5_core " in line or "8021q: " in line or "PCIe bandwidth" in line]
    return LinkEvents(_losses(lines), {b.pci: b for b in filter(None, map(_bandwidth, lines))})


def _losses(lines: List[str]) -> Tuple[LinkLoss, ...]:
    """A link that was never up cannot be lost: a driver that starts, and software that opens an interface, begin anew."""
    up: Dict[str, bool] = {}
    losses: List[LinkLoss] = []
    opened = [(found.group("interface"), seconds_of(time_of(line))) for line in lines for found in [_OPENED.match(line)] if found]
    for line in lines:
        driver, link = _DRIVER.match(line), _LINK.match(line)
        if driver:
            up[driver.group("pci")] = False
        if link:
            pci, interface, time = link.group("pci"), link.group("interface"), time_of(line)
            is_up = link.group("state") == "up"
            if up.get(pci) and not is_up and not _was_opened(interface, seconds_of(time), opened):
                losses.append(LinkLoss(pci, interface, time))
            up[pci] = is_up
    return tuple(losses)


def _was_opened(interface: str, at: Optional[float], opened: List[Tuple[str, Optional[float]]]) -> bool:
    return at is not None and any(name == interface and then is not None and abs(at - then) <= _OPENING_S for name, then in opened)


def _bandwidth(line: str) -> Optional[Bandwidth]:
    found = _BANDWIDTH.match(line)
    if not found:
        return None
    lanes, at = found.group("lanes"), found.group("at") or ""
    generation = _GENERATIONS.get(found.group("speed") or "")
    limited = bool(found.group("limited"))
    return Bandwidth(
        found.group("pci"), float(found.group("gbps")), generation if limited else None, int(lanes) if lanes else None, at, time_of(line)
    )


def most_within(losses: List[LinkLoss], span_s: float) -> int:
    """The largest number of losses within a span of time; one without a readable time counts in each."""
    times = sorted(at for at in (seconds_of(loss.time) for loss in losses) if at is not None)
    dense = max((sum(first <= at <= first + span_s for at in times) for first in times), default=0)
    return dense + len(losses) - len(times)
