"""What a machine's BMC says, as the checks of the role bios see it. It is read on the controller: a node cannot reach its BMC."""

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
        vendor: whose attribute names it uses; empty if nothing tells.
        current: the attributes in force.
        pending: what its settings resource holds: all attributes, or only those that the next reset changes.
        firmware: version by Id, of the components that were asked for.
    """

    vendor: str
    current: Mapping[str, Any] = field(default_factory=dict)
    pending: Mapping[str, Any] = field(default_factory=dict)
    firmware: Mapping[str, str] = field(default_factory=dict)

    def attributes(self, names: Sequence[str]) -> List[str]:
        """The attributes that carry one of these names, with or without a suffix (`SMTControl_00CB`)."""
        wanted = {plain(n) for n in names}
        return sorted(a for a in self.current if plain(a) in wanted or _SUFFIX.sub("", plain(a)) in wanted)

    def next_boot(self, attribute: str) -> Any:
        """Its value after the next reset."""
        value = self.pending.get(attribute)
        return self.current.get(attribute) if value is None else value

    def components(self, globs: Sequence[str]) -> Dict[str, str]:
        """Version by Id of the components that match."""
        return {name: self.firmware[name] for name in sorted(self.firmware) if any(fnmatchcase(name, g) for g in globs)}


def plain(name: str) -> str:
    """A name with every sign as `_`, as newer BIOS builds write it."""
    return re.sub(r"[^A-Za-z0-9]", "_", name.encode("ascii", "ignore").decode())


def same_value(declared: Any, found: Any) -> bool:
    """Whether a machine's value is the declared one: "Enabled" is "Enable", "1" is 1 and true; true is also Enabled and Yes."""
    if declared is None or found is None:
        return False
    one, other = (_SAME.get(str(v).strip().lower(), str(v).strip().lower()) for v in (declared, found))
    if isinstance(declared, bool) or isinstance(found, bool):
        return one in _SWITCH and _SWITCH[one] is _SWITCH.get(other)
    return one == other


def bare_version(told: str) -> str:
    """The version itself: Supermicro wraps that of a BIOS in a date (`BIOS Date: 08/04/2023 Ver 1.4`)."""
    return re.sub(r"^BIOS Date: \S+ Ver ", "", told.strip())


def version_parts(version: str) -> List[Any]:
    """A version as parts that compare: numbers by value, words by letters."""
    return [(1, int(p), "") if p.isdigit() else (0, 0, p.lower()) for p in re.findall(r"\d+|[A-Za-z]+", version)]
