"""Which hosts share the values of a role: same raw inputs, same rendered values, rendered once."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from clusterctl.adapters.inventory.ansible_worker.origins import freeze, is_vaulted, where
from clusterctl.adapters.inventory.references import references, templates_in

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping

    from clusterctl.adapters.inventory.ansible_worker.variables import InventoryVariables, Variables


@dataclass(frozen=True, slots=True)
class Closure:
    """Everything a set of variables may depend on.

    Attributes:
        names: the variables themselves and all they read, directly or not.
        dynamic: a template reads by computed names, so that every host is a class of its own.
        vaulted: names among them with a vault-encrypted definition.
    """

    names: frozenset[str]
    dynamic: bool
    vaulted: frozenset[str]


class Definitions:
    """All definitions of all variables in scope: the ground that closures are computed on.

    A value from a file that is encrypted as a whole counts as vaulted. `public` takes away what never enters a spec.
    """

    def __init__(self, entities: Iterable[Mapping[str, Any]], encrypted_files: frozenset[str], public: Callable[[str, Any], Any]) -> None:
        self._encrypted_files = encrypted_files
        self._public = public
        self._reads: dict[str, set[str]] = defaultdict(set)
        self._vaulted: set[str] = set()
        self._frozen = FrozenValues()
        self.names: set[str] = set()
        seen: set[tuple[str, str]] = set()
        for entity in entities:
            for name, value in entity.items():
                self.names.add(str(name))
                self._learn(str(name), value, seen)

    def _learn(self, name: str, value: Any, seen: set[tuple[str, str]]) -> None:
        if isinstance(value, (int, float, bool)) or value is None:
            return
        value = self._public(name, value)
        if is_vaulted(value) or (self._encrypted_files and where(value)[0] in self._encrypted_files):
            self._vaulted.add(name)
        for template in templates_in(value):
            if (name, template) not in seen:
                seen.add((name, template))
                self._reads[name].add(template)

    @property
    def read_names(self) -> frozenset[str]:
        """Every variable that some template reads by its name."""
        return frozenset(n for templates in self._reads.values() for t in templates for n in references(t).names)

    def closure(self, names: Iterable[str]) -> Closure:
        """Follow the templates of `names` to everything they may read."""
        found: set[str] = set()
        frontier = list(names)
        dynamic = False
        while frontier:
            name = frontier.pop()
            if name in found:
                continue
            found.add(name)
            for template in self._reads.get(name, ()):
                reads = references(template)
                dynamic = dynamic or reads.dynamic
                frontier.extend(reads.names - found)
        return Closure(frozenset(found), dynamic, frozenset(found & self._vaulted))

    def section(self, names: Iterable[str], host_names: frozenset[str]) -> Section:
        """The section of these variables; `host_names` are those that hosts define at all: keys look at no others."""
        closure = self.closure(names)
        return Section(closure, closure.names & host_names, self._frozen)


class FrozenValues:
    """Hashable stand-ins of values; racks share the values of their profile, each of which is frozen once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[object, Hashable]] = {}

    def of(self, value: object) -> Hashable:
        """The stand-in of a value that nobody changes."""
        if id(value) not in self._known:
            self._known[id(value)] = (value, freeze(value))
        return self._known[id(value)][1]


@dataclass(slots=True)
class Section:
    """The values of one role, of the gates or of a place, for all hosts in scope."""

    closure: Closure
    _host_names: frozenset[str]
    _frozen: FrozenValues
    _group_numbers: dict[int, int] = field(default_factory=dict)
    _group_keys: dict[Hashable, int] = field(default_factory=dict)

    def key(self, host: Any, variables: InventoryVariables) -> Hashable:
        """Equal keys, equal values."""
        if self.closure.dynamic:
            return str(host.name)
        own = variables.host_part(host)
        names = [n for n in self._host_names if n in own]
        return (self._group_number(variables.group_part(host)), tuple((n, freeze(own[n])) for n in names))

    def _group_number(self, part: Variables) -> int:
        """Equal numbers, equal values of the groups: a key of all these values would be hashed anew for every host."""
        if id(part) not in self._group_numbers:
            names = sorted(n for n in self.closure.names if n in part and n not in ("groups", "hostvars"))
            key = tuple((n, self._frozen.of(part[n])) for n in names)
            self._group_numbers[id(part)] = self._group_keys.setdefault(key, len(self._group_keys))
        return self._group_numbers[id(part)]
