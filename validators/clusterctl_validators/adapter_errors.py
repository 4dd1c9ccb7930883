"""Errors of mlx5 adapters and of their modules (cable, transceiver) in the kernel log.

Formats: Linux, drivers/net/ethernet/mellanox/mlx5/core/health.c, cmd.c (wait_func), events.c (port_module, temp_warn, mlx5_pcie_event) and main.c
(mlx5_pci_err_detected). Which of them are fatal: NVIDIA/NVSentinel, docs/nic-health-monitor.md; leptonai/gpud (issue 348) has the power of a slot inspected.
"""

import re
from typing import Iterator, Tuple

from clusterctl_validators.boot_log import MESSAGE_START, time_of
from clusterctl_validators.logged_error import LoggedError

LOG_PATTERN = (
    r"mlx5_core .*(?:health compromised|Health issue observed|leak of a command resource|health recovery (?:flow aborted|failed)|Firmware over \d+ MS in|PCI slot is unavailable"
    r"|Fatal error [125] detected|mlx5_pci_err_detected|Port module event\[error\]|High temperature on sensors|Detected insufficient power)"
)
_OF_LOST = (
    "drain the node and reboot it; if the adapter logs it again, take its standby power, too (`clusterctl power ac-cycle`), update its firmware, then replace it. "
    "Where it was too hot, check fans and inlet first"
)
# What was logged begins with, or has, one of these words; the first that fits.
_OF_WARNED = (
    (
        "Temperature",
        "check fans and inlet: a module that is too hot takes its link down; if others are cool, reseat the transceiver, then replace it",
    ),
    (
        "Power budget exceeded",
        "use a module of a power class that the cage can feed, or raise its power limit in the adapter's firmware configuration",
    ),
    ("Port module", "reseat the cable and transceivers, then replace them"),
    ("insufficient power", "check the auxiliary power cable of the adapter or its riser, then reseat the adapter"),
    ("mlx5_pci_err_detected", "reseat the adapter and its riser; if it returns, update the firmware, then replace it"),
    ("Health issue", "update the firmware of the adapter; if it returns, replace it"),
)

# "Fatal error 3" and "4", an interface that is disabled or reset (health.c), are left out: reloading the driver logs 3, too (kernel commit 0462a15d2d1f), 4 is a
# reset of the firmware by another function. One that stays so ends in "health recovery failed".
# An adapter logs dozens of lines while its driver starts.
_CANDIDATE = re.compile(LOG_PATTERN)
_ADAPTER = r"mlx5_core (?P<device>[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]):? .*?"
_LOST = re.compile(
    MESSAGE_START
    + _ADAPTER
    + r"(?P<detail>device's health compromised.*|\w+\(0x\w+\)(?: \w+,)? timeout\. Will cause a leak of a command resource"
    + r"|health recovery (?:flow aborted|failed).*|Firmware over \d+ MS in \S+ state, aborting|PCI slot is unavailable|Fatal error [125] detected|Health issue observed, (?!.*severity\([4-7]\)).*)"
)
_WARNED = re.compile(
    MESSAGE_START
    + _ADAPTER
    + r"(?P<detail>Health issue observed, .*severity\([4-7]\).*|Port module event\[error\]: .*|High temperature on sensors.*|Detected insufficient power on the PCIe slot.*"
    + r"|mlx5_pci_err_detected Device state = .* Enter, pci channel state = .*)"
)


def parse(text: str) -> Tuple[LoggedError, ...]:
    """The errors of a log by the PCI addresses of the adapters, in its order."""
    return tuple(_errors(text))


def _errors(text: str) -> Iterator[LoggedError]:
    for line in text.splitlines():
        if "mlx5_core " not in line or not _CANDIDATE.search(line):
            continue
        lost = _LOST.match(line)
        found = lost or _WARNED.match(line)
        if found:
            detail = found.group("detail").strip()
            yield LoggedError(
                found.group("device"),
                detail,
                lost is None,
                time_of(line[: found.start("device")]),
                _OF_LOST if lost else _of_warned(detail),
            )


def _of_warned(detail: str) -> str:
    return next(action for words, action in _OF_WARNED if words.lower() in detail.lower())
