"""NVIDIA's decoding of XIDs 144 to 150, the errors of NVLink of generation 5: unit, sub-code and status stand in the two first registers of the line.

Source: XID catalogue of NVIDIA, sheet `XID 144-150 Decode` (docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html), as leptonai/gpud generated it in October 2025.
"""

import re
from enum import Enum
from typing import Dict, FrozenSet, NamedTuple, Optional, Sequence, Tuple

from clusterctl_validators.xid_catalogue import HINTS, Action

CODES: FrozenSet[int] = frozenset(range(144, 151))
_REGISTERS = re.compile(r"\((0x[0-9a-fA-F]{8}) (0x[0-9a-fA-F]{8})\b")
_SEVERITY = re.compile(r"\b(non-?)?fatal\b", re.IGNORECASE)
_LINK = re.compile(r"\bLink (-?\d+)\b")


class Resolution(Enum):
    """What the catalogue demands at once, from the mildest on."""

    IGNORE = 0
    AS_XID_154 = 1
    RESET_GPU = 2


class Investigation(Enum):
    """What the catalogue recommends to look at afterwards."""

    NONE = "IGNORE"
    SUPPORT = "CONTACT_SUPPORT"
    LINK_FLOW = "CHECK_NVLINK_FAILURE_FLOW"
    REPORT_IF_ALONE = "SYMPATHETIC_REPORT_SOLO"
    REPORT_IF_DAILY = "REPORT_ISSUE"
    LINK_SIGNAL = "INVESTIGATE_LINK_SI"
    LINK_AND_CABLES = "INVESTIGATE_LINK_SI_AND_CABLES"
    SOFTWARE = "INVESTIGATE_SW_USER"
    SOFTWARE_OR_SIGNAL = "INVESTIGATE_SW_USER_LINK_SI"
    PEER = "INVESTIGATE_PEER_DEVICE"
    HOST = "INVESTIGATE_HOST"


class Meaning(NamedTuple):
    """What a line means.

    Attributes:
        unit: of the GPU, as the catalogue names it.
        link: of the GPU; None where the line names none.
    """

    unit: str
    resolution: Resolution
    investigation: Investigation
    link: Optional[int] = None


class _Unit(NamedTuple):
    """A unit by the low bits of the first register: ten in the older layout, seven in the newer one.

    Which driver has which layout is not confirmed: all recorded lines of hardware have the older one. No register has a meaning in both for one XID.
    """

    name: str
    older: int
    newer: FrozenSet[int]


_I, _X, _R = Resolution.IGNORE, Resolution.AS_XID_154, Resolution.RESET_GPU
_A = Investigation
_SW_BIT = 0x80000000

# XID -> its units.
_UNITS: Dict[int, Tuple[_Unit, ...]] = {
    144: (_Unit("SAW_MVB", 0x021, frozenset({1})),),
    145: (
        _Unit("RLW_CTRL", 0x062, frozenset({3})),
        _Unit("RLW_REMAP", 0x082, frozenset({4})),
        _Unit("RLW_RSPCOL", 0x0A2, frozenset({5})),
        _Unit("RLW_RXPIPE", 0x0C2, frozenset({6})),
        _Unit("RLW_SRC_TRACK", 0x0E2, frozenset({7})),
        _Unit("RLW_TAGSTATE", 0x102, frozenset({8})),
    ),
    146: (
        _Unit("TLW_CTRL", 0x123, frozenset({9})),
        _Unit("TLW_RX", 0x143, frozenset({10, 11})),
        _Unit("TLW_TX", 0x163, frozenset({12, 13})),
    ),
    147: (_Unit("TREX", 0x184, frozenset({14})),),
    148: (_Unit("NVLPW_CTRL", 0x005, frozenset({15})),),
    149: (
        _Unit("NETIR_INT", 0x006, frozenset({24})),
        _Unit("NETIR_LINK_DOWN", 0x1C6, frozenset({17})),
        _Unit("NETIR_BER_EVENT", 0x226, frozenset({19})),
        _Unit("NETIR_MFDE_EVENT", 0x246, frozenset({20})),
    ),
    150: (_Unit("MSE_WATCHDOG", 0x000, frozenset({0})),),
}

_TLW = ((_I, _A.NONE, (0x1,)), (_I, _A.SUPPORT, (0x2, _SW_BIT)), (_R, _A.SUPPORT, (0x4,)))
_Statuses = Sequence[Tuple[Resolution, Investigation, Tuple[int, ...]]]

# Unit -> the bits of the second register. Several may be set at once.
_BITS: Dict[str, _Statuses] = {
    "SAW_MVB": ((_I, _A.SUPPORT, (0x1, 0x8)), (_R, _A.SUPPORT, (0x2, 0x10)), (_I, _A.NONE, (0x4, 0x20))),
    "RLW_CTRL": ((_I, _A.SUPPORT, (_SW_BIT,)),),
    "RLW_REMAP": (
        (_X, _A.SUPPORT, (0x1, 0x2)),
        (_X, _A.LINK_FLOW, (0x4, 0x8, 0x10, 0x20)),
        (_R, _A.SUPPORT, (0x40, 0x80)),
        (_I, _A.NONE, (0x100, 0x200)),
        (_I, _A.SUPPORT, (_SW_BIT,)),
    ),
    "RLW_RSPCOL": ((_I, _A.NONE, (0x1,)), (_R, _A.SUPPORT, (0x2,)), (_I, _A.SUPPORT, (_SW_BIT,))),
    "RLW_RXPIPE": ((_I, _A.SUPPORT, (0x1, 0x2, 0x4, 0x8, _SW_BIT)),),
    "RLW_SRC_TRACK": (
        (_R, _A.SUPPORT, (0x1, 0x10, 0x20)),
        (_I, _A.NONE, (0x2,)),
        (_X, _A.NONE, (0x4, 0x8)),
        (_I, _A.SUPPORT, (_SW_BIT,)),
    ),
    "RLW_TAGSTATE": (
        (_I, _A.NONE, (0x1, 0x10000)),
        (_R, _A.SUPPORT, (0x2, 0x20000, 0x100000)),
        (_I, _A.SUPPORT, (_SW_BIT,)),
    ),
    "TLW_CTRL": _TLW,
    "TLW_RX": _TLW,
    "TLW_TX": _TLW,
    "TREX": ((_I, _A.SUPPORT, (0x1, _SW_BIT)),),
    "NVLPW_CTRL": ((_I, _A.SUPPORT, (_SW_BIT,)),),
}

# Unit -> the values of the second register.
_VALUES: Dict[str, _Statuses] = {
    "NETIR_INT": ((_R, _A.REPORT_IF_ALONE, (0x0,)),),
    "NETIR_BER_EVENT": ((_I, _A.LINK_AND_CABLES, (0x0, 0x1, 0x2, 0x3)),),
    "NETIR_MFDE_EVENT": ((_R, _A.SUPPORT, (0x1, 0x4, 0x5, 0x7)), (_I, _A.NONE, (0x3,))),
    "MSE_WATCHDOG": ((_R, _A.SUPPORT, (0x0,)),),
}

# Why a link went down, in bits 20 to 25 of the first register.
_LINK_DOWN: _Statuses = (
    (_R, _A.REPORT_IF_ALONE, (0,)),
    (_R, _A.REPORT_IF_DAILY, (1,)),
    (_R, _A.LINK_SIGNAL, (2, 4, 10)),
    (_R, _A.SOFTWARE, (15, 17, 22)),
    (_R, _A.SOFTWARE_OR_SIGNAL, (16, 18)),
    (_R, _A.PEER, (21, 32, 33, 34, 35, 36, 37)),
    (_I, _A.SOFTWARE, (38,)),
    (_I, _A.HOST, (40,)),
    (_R, _A.LINK_AND_CABLES, (42, 43)),
)


def decode(code: int, detail: str) -> Optional[Meaning]:
    """What a line of XID 144 to 150 means, `detail` being the text after its number; None if its registers are not in the catalogue, or not in the line.

    A line whose error is fatal demands a reset, though the catalogue ignored it: the catalogue lists units whose severity depends on the driver.
    """
    found = _REGISTERS.search(detail)
    if found is None:
        return None
    first, status = (int(register, 16) for register in found.groups())
    unit = next((u for u in _UNITS.get(code, ()) if first & 0x3FF == u.older or first & 0x7F in u.newer), None)
    listed = unit and _listed(unit.name, (first >> 20) & 0x3F, status)
    if unit is None or listed is None or (unit.name == "RLW_RXPIPE" and status & 0x7 and _is_marked(first, unit)):
        return None
    severity, link = _SEVERITY.search(detail), _LINK.search(detail)
    fatal = severity is not None and not severity.group(1)
    number = int(link.group(1)) if link else -1
    return Meaning(unit.name, Resolution.RESET_GPU if fatal else listed[0], listed[1], number if number >= 0 else None)


def _is_marked(first: int, unit: _Unit) -> bool:
    """The bit above the unit's, which must be clear in those rows of the catalogue that show it."""
    return bool(first & (0x400 if first & 0x3FF == unit.older else 0x80))


def _listed(unit: str, reason: int, status: int) -> Optional[Tuple[Resolution, Investigation]]:
    if unit == "NETIR_LINK_DOWN":
        return _one(_LINK_DOWN, reason) if not status else None
    if reason:
        return None
    if unit in _VALUES:
        return _one(_VALUES[unit], status)
    each = [_one(_BITS[unit], 1 << bit) for bit in range(32) if status & (1 << bit)]
    known = [one for one in each if one]
    if not known or len(known) < len(each):
        return None
    return max(known, key=lambda one: (one[0].value, one[1] is not Investigation.NONE))


def _one(statuses: _Statuses, value: int) -> Optional[Tuple[Resolution, Investigation]]:
    return next(((resolution, look_at) for resolution, look_at, values in statuses if value in values), None)


_REPORT = "send the output of nvidia-bug-report.sh to NVIDIA support"
_NEXT: Dict[Investigation, str] = {
    Investigation.NONE: "no action is needed",
    Investigation.SUPPORT: "if it returns, " + _REPORT,
    Investigation.LINK_FLOW: "check {link} and the others of the GPU (nvidia-smi nvlink -e)",
    Investigation.REPORT_IF_ALONE: "look for an earlier error of another GPU or of a switch, which this one may follow; if there is none, "
    + _REPORT,
    Investigation.REPORT_IF_DAILY: "if it returns within a day, " + _REPORT,
    Investigation.LINK_SIGNAL: "compare the errors of {link} with those of its port on the switch; if they return, RMA the GPU board",
    Investigation.LINK_AND_CABLES: "check the signal of {link} (nvidia-smi nvlink -e, and its port on the switch); reseat tray or cable if errors grow",
    Investigation.SOFTWARE: "a program or person took {link} down: find out what reset a GPU, a switch or the fabric manager",
    Investigation.SOFTWARE_OR_SIGNAL: "find out what reset a GPU, a switch or the fabric manager; otherwise check the signal of {link} (nvidia-smi nvlink -e)",
    Investigation.PEER: "{link} was taken down by its other end: look for the error of the switch, or of the GPU there, first",
    Investigation.HOST: "find out what the host did to the GPU at that time (reset, power, driver)",
}
_FIRST: Dict[Resolution, str] = {
    Resolution.IGNORE: "",
    Resolution.AS_XID_154: "the driver recommends its action in XID 154 of the same GPU; ",
    Resolution.RESET_GPU: HINTS[Action.RESET_GPU] + "; ",
}


def advice(meaning: Meaning) -> str:
    """The next action."""
    link = "the link" if meaning.link is None else "link {}".format(meaning.link)
    return _FIRST[meaning.resolution] + _NEXT[meaning.investigation].format(link=link)
