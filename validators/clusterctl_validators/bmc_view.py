"""The BMC state that the checks of the role bios use. It is read on the controller, because a node cannot reach its BMC."""

import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Dict, List, Mapping, Sequence

_SUFFIX = re.compile(r"_[0-9A-F]{4}$")
_SAME = {"enabled": "enable", "disabled": "disable", "true": "1", "false": "0"}
_SWITCH = {"1": True, "enable": True, "yes": True, "on": True, "0": False, "disable": False, "no": False, "off": False}


@dataclass(frozen=True)
class BmcView:
    """One reading of one BMC.

    Attributes:
        vendor: whose attribute names it uses; empty if unknown.
        current: the attributes in force.
        pending: contents of its settings resource: all attributes, or only those that the next reset changes.
        firmware: version by Id, of the requested components.
    """

    vendor: str
    current: Mapping[str, Any] = field(default_factory=dict)
    pending: Mapping[str, Any] = field(default_factory=dict)
    firmware: Mapping[str, str] = field(default_factory=dict)

    def attributes(self, names: Sequence[str]) -> List[str]:
        """The attributes with one of these names, with or without a suffix (`SMTControl_00CB`)."""
        plain_names = {plain(n) for n in names}
        return sorted(a for a in self.current if plain(a) in plain_names or _SUFFIX.sub("", plain(a)) in plain_names)

    def next_boot(self, attribute: str) -> Any:
        """The value of an attribute after the next reset."""
        value = self.pending.get(attribute)
        return self.current.get(attribute) if value is None else value

    def components(self, globs: Sequence[str]) -> Dict[str, str]:
        """Version by Id of the components that match."""
        return {name: self.firmware[name] for name in sorted(self.firmware) if any(fnmatchcase(name, g) for g in globs)}


def plain(name: str) -> str:
    """A name with every non-alphanumeric character as `_`, the form that newer BIOS builds use."""
    return re.sub(r"[^A-Za-z0-9]", "_", name.encode("ascii", "ignore").decode())


def same_value(declared: Any, found: Any) -> bool:
    """Whether a BIOS value equals the declared one: "Enabled" is "Enable", "1" is 1 and true; true is also Enabled and Yes."""
    if declared is None or found is None:
        return False
    one, other = (_SAME.get(str(v).strip().lower(), str(v).strip().lower()) for v in (declared, found))
    if isinstance(declared, bool) or isinstance(found, bool):
        return one in _SWITCH and _SWITCH[one] is _SWITCH.get(other)
    return one == other


def bare_version(reported: str) -> str:
    """The version alone: Supermicro puts a date before that of a BIOS (`BIOS Date: 08/04/2023 Ver 1.4`)."""
    return re.sub(r"^BIOS Date: \S+ Ver ", "", reported.strip())


def version_parts(version: str) -> List[Any]:
    """A version as comparable parts: numbers compare by value, words alphabetically."""
    return [(1, int(p), "") if p.isdigit() else (0, 0, p.lower()) for p in re.findall(r"\d+|[A-Za-z]+", version)]
