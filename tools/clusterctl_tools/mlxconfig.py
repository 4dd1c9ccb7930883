"""mlxconfig (MFT) and mstconfig (mstflint): the NV configuration of an adapter, and what the next boot changes."""

import re
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence

_ROW = re.compile(r"^\s*(?:\*\s*)?(?:RO\s+)?(?P<name>[A-Z][A-Z0-9_]*(?:\[\d+\])?)\s+(?P<values>\S.*?)\s*$")
_COLUMNS = 3
# A long value fills its column, so the next one may follow without a blank.
_VALUE = re.compile(r"[^\s()]*\([^()]*\)|[^\s()]+")
# A query that names a parameter is refused as a whole, by these words (mstflint 4.21, 4.30 and 4.34, MFT 4.34.1: mlxcfg_generic_commander.cpp
# for what the adapter lacks or hides, mlxcfg_db_manager.cpp for what is unknown to the tool).
_REFUSED = re.compile(
    r"The Device doesn't support (?P<a>\S+) parameter|Unknown Parameter:? (?P<b>\S+)|Failed to find Param / TLV with name '(?P<c>[^']+)'"
)
_LINK_TYPE = re.compile(r"LINK_TYPE_P\d")
# Values of LINK_TYPE_P1 -> link layer of sysfs.
_LINK_LAYERS = {"InfiniBand": "IB(1)", "Ethernet": "ETH(2)"}


class UnreadableConfigurationError(ValueError):
    """The text shows no configuration."""


@dataclass(frozen=True)
class Parameter:
    """One parameter as printed, e.g. `True(1)`: the factory default, the value in force, the value after the next boot."""

    default: str
    current: str
    next_boot: str


def query_argv(tool: str, address: str, names: Sequence[str] = ()) -> List[str]:
    """The command that prints default, current and next value of these parameters, or of all. `tool`: mlxconfig or mstconfig."""
    return [tool, "-d", address, "-e", "query", *names]


def parse_configuration(text: str) -> Dict[str, Parameter]:
    """Every parameter with three values; an array shows as `Array[0..7]`. Raises UnreadableConfigurationError without the three columns."""
    rows: Dict[str, Parameter] = {}
    inside = False
    for line in text.splitlines():
        if line.startswith("Configurations:"):
            inside = bool(re.search(r"Default\s+Current\s+Next Boot", line))
            continue
        row = _ROW.match(line) if inside else None
        values = _VALUE.findall(row.group("values")) if row else []
        if row and len(values) == _COLUMNS:
            rows[row.group("name")] = Parameter(*values)
    if not rows:
        raise UnreadableConfigurationError("no parameter with default, current and next boot: {!r}".format(text.strip()[-120:]))
    return rows


def refused_parameter(text: str) -> str:
    """The parameter for which a query that names parameters was refused; empty if none."""
    found = _REFUSED.search(text)
    return next((word for word in found.groups() if word), "") if found else ""


def is_link_type(name: str) -> bool:
    """Whether the parameter chooses InfiniBand or Ethernet for a port."""
    return bool(_LINK_TYPE.fullmatch(name))


def fixed_link_type(name: str, link_layer: str) -> str:
    """What the tool would print as LINK_TYPE_P1 of an adapter that lacks this parameter because it has one link type; empty for other parameters.

    `link_layer`: of the kernel. ConnectX-4 Lx lacks the parameter (openshift/sriov-network-operator issue 48).
    """
    return _LINK_LAYERS.get(link_layer, "") if is_link_type(name) else ""


def same(declared: Any, printed: str) -> bool:
    """Whether `1`, `true` or `ETH` equals what the tool prints as `True(1)` or `ETH(2)`."""
    found = re.match(r"^(?P<word>[^()]*)\((?P<number>[^()]*)\)$", printed)
    names = {found.group("word").lower(), found.group("number").lower()} if found else {printed.lower()}
    expected = str(int(declared)) if isinstance(declared, bool) else str(declared).lower()
    return expected in names or any(_number(expected) is not None and _number(expected) == _number(n) for n in names)


def _number(text: str) -> Optional[int]:
    try:
        return int(text, 0)
    except ValueError:
        return None
