"""mlnx_qos: the quality of service of an Ethernet adapter."""

import re
from dataclasses import dataclass
from typing import Dict, List, Optional, Tuple


class UnreadableQosError(Exception):
    """The text is not the output of mlnx_qos."""


@dataclass(frozen=True)
class Qos:
    """Priorities range from 0 to 7.

    Attributes:
        dcbx: what controls the settings, `os` or `fw`; empty if not shown.
        trust: `dscp` or `pcp`.
        priority_of: DSCP -> priority; empty if the adapter trusts pcp.
        pfc: the priorities with priority flow control.
        buffer_of: the buffer of each priority; None if not shown.
        buffer_sizes: sizes of the receive buffers in bytes; None if not shown.
    """

    dcbx: str
    trust: str
    priority_of: Dict[int, int]
    pfc: Tuple[int, ...]
    buffer_of: Optional[Tuple[int, ...]]
    buffer_sizes: Optional[Tuple[int, ...]]


def show_argv(interface: str) -> List[str]:
    """The command that `parse` reads."""
    return ["mlnx_qos", "-i", interface]


def parse(text: str) -> Qos:
    """The settings in force. Raises UnreadableQosError if trust or PFC is missing."""
    trust = re.search(r"^Priority trust state: (\w+)", text, re.MULTILINE)
    enabled = re.search(r"^\s*enabled((?:\s+[01]){8})\s*$", text, re.MULTILINE)
    if not trust or not enabled:
        raise UnreadableQosError("mlnx_qos shows no trust state or no PFC")
    dcbx = re.search(r"^DCBX mode: (\w+) controlled", text, re.MULTILINE)
    buffers = re.search(r"^\s*buffer((?:\s+\d){8})\s*$", text, re.MULTILINE)
    sizes = re.search(r"^Receive buffer size \(bytes\): ((?:\d+,){7}\d+)", text, re.MULTILINE)
    mapping = {}
    for priority, points in re.findall(r"^\s*prio:(\d) dscp:([\d,]*)", text, re.MULTILINE):
        mapping.update({int(point): int(priority) for point in points.split(",") if point})
    return Qos(
        dcbx={"OS": "os", "Firmware": "fw"}.get(dcbx.group(1), dcbx.group(1)) if dcbx else "",
        trust=trust.group(1),
        priority_of=mapping,
        pfc=tuple(priority for priority, on in enumerate(enabled.group(1).split()) if on == "1"),
        buffer_of=tuple(int(b) for b in buffers.group(1).split()) if buffers else None,
        buffer_sizes=tuple(int(s) for s in sizes.group(1).split(",")) if sizes else None,
    )
