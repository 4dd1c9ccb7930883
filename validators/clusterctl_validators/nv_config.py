"""Pure readers of an adapter's firmware and NV configuration, from `flint query` and `mlxconfig -e query`."""

import re
from dataclasses import dataclass
from typing import Any, Dict, Optional

_ROW = re.compile(r"^\s*(?:\*\s*)?(?:RO\s+)?(?P<name>[A-Z][A-Z0-9_]*(?:\[\d+\])?)\s+(?P<values>\S.*?)\s*$")
# A long value fills its column, so the next one may follow without a blank.
_VALUE = re.compile(r"[^\s()]*\([^()]*\)|[^\s()]+")
# A query that names a parameter is refused as a whole, by these words (mstflint 4.21, 4.30 and 4.34, MFT 4.34.1: mlxcfg_generic_commander.cpp
# for what the adapter lacks or hides, mlxcfg_db_manager.cpp for what the tool does not know).
_REFUSED = re.compile(
    r"The Device doesn't support (?P<a>\S+) parameter|Unknown Parameter:? (?P<b>\S+)|Failed to find Param / TLV with name '(?P<c>[^']+)'"
)
_LINK_TYPE = re.compile(r"^LINK_TYPE_P\d$")
_LINK_LAYERS = {"InfiniBand": "IB(1)", "Ethernet": "ETH(2)"}
_FIELD = re.compile(r"^(?P<name>FW Version|FW Version\(Running\)|PSID):\s+(?P<value>\S+)", re.MULTILINE)


class UnreadableToolError(ValueError):
    """The text is not the output of the tool."""


@dataclass(frozen=True)
class Parameter:
    """One parameter as printed, e.g. `True(1)`: the factory default, the value in force, the value after the next boot."""

    default: str
    current: str
    next_boot: str


@dataclass(frozen=True)
class Firmware:
    """`flash`: the version that the next reset starts; `running`: the current one; `psid`: the board."""

    flash: str
    running: str
    psid: str


def parse_configuration(text: str) -> Dict[str, Parameter]:
    """Every parameter with three values; an array shows as `Array[0..7]`. Raises UnreadableToolError without the three columns."""
    rows: Dict[str, Parameter] = {}
    inside = False
    for line in text.splitlines():
        if line.startswith("Configurations:"):
            inside = bool(re.search(r"Default\s+Current\s+Next Boot", line))
            continue
        row = _ROW.match(line) if inside else None
        values = _VALUE.findall(row.group("values")) if row else []
        if row and len(values) == 3:
            rows[row.group("name")] = Parameter(*values)
    if not rows:
        raise UnreadableToolError("no parameter with default, current and next boot: {!r}".format(text.strip()[-120:]))
    return rows


def refused_parameter(text: str) -> str:
    """The parameter for which a query that names parameters was refused; empty if none."""
    found = _REFUSED.search(text)
    return next((word for word in found.groups() if word), "") if found else ""


def fixed_link_type(name: str, link_layer: str) -> str:
    """What the tool would print as LINK_TYPE_P1 of an adapter that lacks this parameter because it has one link type; empty for other parameters.

    `link_layer`: of the kernel. ConnectX-4 Lx lacks the parameter (openshift/sriov-network-operator issue 48).
    """
    return _LINK_LAYERS.get(link_layer, "") if _LINK_TYPE.match(name) else ""


def parse_firmware(text: str) -> Firmware:
    """Parse `flint query`; it omits the running version if that equals the flash. Raises UnreadableToolError without version or board."""
    fields = {m.group("name"): m.group("value") for m in _FIELD.finditer(text)}
    if "FW Version" not in fields or "PSID" not in fields:
        raise UnreadableToolError("no FW Version or no PSID: {!r}".format(text.strip()[-120:]))
    return Firmware(fields["FW Version"], fields.get("FW Version(Running)", fields["FW Version"]), fields["PSID"])


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
