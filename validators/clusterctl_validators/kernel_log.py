"""XID (GPU) and SXid (NVSwitch) lines of the kernel log since boot, with their times."""

import re
from dataclasses import dataclass
from typing import List, Match, Pattern, Tuple

from clusterctl_validators.boot_log import MESSAGE_START, Runner, parse_log, read_log, time_of

# A MIG instance, and a compute instance in it, stand behind the address: `Xid (PCI:0000:01:00 GPU-I:05 GPU-CI:00): 94`
# (NVIDIA/open-gpu-kernel-modules 129479b, src/nvidia/src/kernel/gpu/rc/kernel_rc.c).
_XID = re.compile(
    MESSAGE_START + r"NVRM: Xid \((?:PCI:)?(?P<pci>[0-9a-fA-F:.]+)(?: GPU-I:\d+)?(?: GPU-CI:\d+)?\): (?P<code>\d{1,9})(?:, (?P<detail>.*))?"
)
# The first line of an SXid states whether it is fatal; lines with its severity number and data follow.
_SXID = re.compile(
    MESSAGE_START
    + r"(?:nvidia-nvswitch\d+: )?SXid \(PCI:(?P<pci>[0-9a-fA-F:.]+)\): (?P<code>\d{1,9})(?:, (?!Severity|Data)(?P<detail>.*)|$)"
)


@dataclass(frozen=True)
class XidEvent:
    """One line.

    Attributes:
        time: as logged, with its year; empty if the log has none.
        pci: the GPU's or NVSwitch's address, as logged.
        detail: the rest of the line.
    """

    time: str
    pci: str
    code: int
    detail: str


@dataclass(frozen=True)
class KernelEvents:
    """The GPU and NVSwitch errors of the log, in its order."""

    xids: Tuple[XidEvent, ...]
    sxids: Tuple[XidEvent, ...]


def parse(text: str) -> KernelEvents:
    """Parse journal, dmesg and raw kernel lines. Raises UnreadableLogError if the log is empty: a booted kernel has logged something."""
    lines = [line for line in parse_log(text).text.splitlines() if "Xid (" in line]
    return KernelEvents(_events(lines, _XID), _events(lines, _SXID))


def _events(lines: List[str], pattern: Pattern[str]) -> Tuple[XidEvent, ...]:
    return tuple(_event(line, found) for line in lines for found in [pattern.search(line)] if found)


def _event(line: str, found: Match[str]) -> XidEvent:
    return XidEvent(
        time_of(line[: found.start("pci")]), found.group("pci"), int(found.group("code")), (found.group("detail") or "").strip()
    )


def is_fatal_sxid(event: XidEvent) -> bool:
    """The NVSwitch driver writes `Fatal` or `Non-fatal` first; a line with neither counts as fatal."""
    return not event.detail.lower().startswith("non-fatal")


def read(runner: Runner) -> KernelEvents:
    """The log of this boot. Raises UnreadableLogError if it cannot be read."""
    return parse(read_log(runner).text)
