"""Role values per class of hosts: computed once per distinct raw input, with the problems found on the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from clusterctl.adapters.inventory.ansible_worker.argument_schema import Breach, check_arguments
from clusterctl.adapters.inventory.ansible_worker.origins import NOWHERE, Place, where_key, where_path
from clusterctl.adapters.inventory.ansible_worker.templating import render_variables
from clusterctl.model.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Hashable

    from clusterctl.adapters.inventory.ansible_worker.roles import Role
    from clusterctl.adapters.inventory.ansible_worker.sections import Definitions, Section
    from clusterctl.adapters.inventory.ansible_worker.variables import InventoryVariables, Variables

GATES = "gates"


@dataclass(slots=True)
class HostClass:
    """Hosts that share the values of a section; `number` is its index in the answer."""

    number: int
    values: dict[str, Any]
    problems: list[Problem]
    nodes: list[str] = field(default_factory=list)


class ClassResolver:
    """Finds or computes the class of a host, per role and for the gates."""

    def __init__(
        self, loader: Any, variables: InventoryVariables, definitions: Definitions, roles: dict[str, Role], own: frozenset[str]
    ) -> None:
        self._loader = loader
        self._variables = variables
        self._definitions = definitions
        self._roles = roles
        self._own = own
        self._defaults: Variables = {k: v for r in roles.values() for k, v in r.defaults.items()}
        self._sections: dict[str, Section] = {}
        self._classes: dict[tuple[str, Hashable], HostClass] = {}

    @property
    def classes(self) -> list[HostClass]:
        """All classes so far, by number."""
        return list(self._classes.values())

    def role_class(self, name: str, host: Any) -> HostClass:
        """The class of `host` for a role."""
        return self._class(name, host)

    def gates_class(self, host: Any) -> HostClass:
        """The class of `host` for the `gates_*` variables."""
        return self._class(GATES, host)

    def _wanted(self, name: str) -> list[str]:
        """The variables of a section."""
        if name == GATES:
            return sorted(n for n in self._definitions.names if n.startswith(f"{GATES}_"))
        return list(self._roles[name].open_options)

    def _class(self, name: str, host: Any) -> HostClass:
        section = self._sections.get(name)
        if section is None:
            section = self._sections[name] = self._definitions.section(self._wanted(name), self._own)
        key = (name, section.key(host, self._variables))
        if key not in self._classes:
            values, problems = self._compute(name, host, self._wanted(name), section)
            self._classes[key] = HostClass(len(self._classes), values, problems)
        found = self._classes[key]
        found.nodes.append(str(host.name))
        return found

    def _compute(self, name: str, host: Any, wanted: list[str], section: Section) -> tuple[dict[str, Any], list[Problem]]:
        role = self._roles.get(name) if name != GATES else None
        context = self._defaults | (role.defaults if role else {}) | self._variables.effective(host)
        raw = {n: context[n] for n in wanted if n in context}
        secrets = [self._secret(n, host, role) for n in raw if self._vaulted(n)] if section.closure.vaulted else []
        if secrets:
            return {}, secrets
        public = {n: role.public(n, v) for n, v in raw.items()} if role else raw
        rendered = render_variables(self._loader, public, context, lambda n: self._place(n, host, role))
        if role is None:
            return rendered.values, rendered.problems
        checked = check_arguments(role.open_options, rendered.values)
        failed = {p.path for p in rendered.problems}
        found = [self._problem(b, raw, host, role) for b in checked.breaches if not b.path or b.path[0] not in failed]
        return checked.values, rendered.problems + found

    def _vaulted(self, name: str) -> frozenset[str]:
        return self._definitions.closure([name]).vaulted

    def _secret(self, name: str, host: Any, role: Role | None) -> Problem:
        source = min(self._vaulted(name))
        of = "" if source == name else f" {source}, which it reads,"
        message = f"{of or ' it'} is vault-encrypted, and a spec holds no secret: plain text, or no_log in the role".strip()
        return Problem(name, message, *self._place(name, host, role))

    def _problem(self, breach: Breach, raw: Variables, host: Any, role: Role) -> Problem:
        if not breach.path:
            return Problem(role.name, breach.message)
        name = str(breach.path[0])
        file, line = where_path(raw.get(name), breach.path[1:], self._place(name, host, role))
        return Problem(str(breach), breach.message, file, line)

    def _place(self, name: str, host: Any, role: Role | None) -> Place:
        place = self._variables.place(host, name)
        return place if place != NOWHERE or role is None or name not in role.defaults else where_key(role.defaults, name)
