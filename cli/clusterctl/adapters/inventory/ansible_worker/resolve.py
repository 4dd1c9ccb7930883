"""From hosts to the answer: connections, places, specs by class; all problems at once."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ansible._internal._datatag._tags import SourceWasEncrypted

from clusterctl.adapters.inventory.ansible_worker import lint, places
from clusterctl.adapters.inventory.ansible_worker.become import configured
from clusterctl.adapters.inventory.ansible_worker.classes import ClassResolver
from clusterctl.adapters.inventory.ansible_worker.entry_lists import EntryLists
from clusterctl.adapters.inventory.ansible_worker.failures import invalid
from clusterctl.adapters.inventory.ansible_worker.origins import NOWHERE, Place, where, where_path
from clusterctl.adapters.inventory.ansible_worker.own_values import OwnValues
from clusterctl.adapters.inventory.ansible_worker.roles import load_roles, role_of
from clusterctl.adapters.inventory.ansible_worker.rules import load_rules, steps
from clusterctl.adapters.inventory.ansible_worker.sections import Definitions
from clusterctl.adapters.inventory.ansible_worker.variables import InventoryVariables
from clusterctl.adapters.inventory.wire import Operation
from clusterctl.core.near_match import did_you_mean
from clusterctl.model.problem import Problem, merge, shown_path

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from clusterctl.adapters.inventory.ansible_worker.classes import HostClass
    from clusterctl.adapters.inventory.ansible_worker.rules import Rule
    from clusterctl.adapters.inventory.ansible_worker.session import Session
    from clusterctl.adapters.inventory.wire import WorkerRequest

_SHOWN = {"place": places.place, "labels": places.labels, "rail_leaves": places.rail_leaves, "bmc_url": places.bmc_url}
_USED = {**_SHOWN, "bmc_url": places.bmc_url_to_use}


class Resolution:
    """One resolution of some hosts."""

    def __init__(self, session: Session, hosts: list[Any], request: WorkerRequest) -> None:
        self._session = session
        self._hosts = hosts
        self._request = request
        self._variables = InventoryVariables(session)
        self._problems: list[Problem] = []
        self._named: list[Problem] = []  # their nodes are named, even if it is every node of the target
        self._lists = EntryLists()
        self._contradictions: dict[tuple[tuple[str, int], ...], list[tuple[str, str]]] = {}

    def topology(self) -> dict[str, Any]:
        """Groups and hosts with their places.

        Raises:
            WorkerError: a place cannot be read.
        """
        own_values = self._own_values(lambda: Definitions(self._variables.entities(self._hosts), frozenset(), lambda _, value: value))
        hosts = [self._shown(h, self._alone(own_values, h, (*places.PLACE, "ansible_host", "ansible_ssh_host"))) for h in self._hosts]
        self._stop_on_problems()
        groups = {str(n): g for n, g in self._session.inventory.groups.items() if n != "all"}
        return {
            "groups": {n: [str(h.name) for h in g.get_hosts()] for n, g in groups.items()},
            "children": {n: [str(c.name) for c in g.child_groups] for n, g in groups.items()},
            "hosts": hosts,
        }

    def nodes(self) -> dict[str, Any]:
        """Nodes, and the values of their roles by class; for CHECK also the lint problems, so that the nodes can be checked further.

        Raises:
            WorkerError: the declared state is invalid; for another operation than CHECK also where there are only lint problems.
        """
        roles = load_roles(self._session.loader, map(Path, self._request.role_dirs))
        entities = list(self._variables.entities(self._hosts))
        lint_problems = [
            *lint.unknown_variables(entities, roles),
            *lint.orphan_group_vars(self._request.layers, self._session.inventory.groups),
        ]

        owner = cache(lambda name: role_of(name, roles))

        def public(name: str, value: Any) -> Any:
            role = owner(name)
            return role.public(name, value) if role else value

        definitions = Definitions([*(r.defaults for r in roles.values()), *entities], self._encrypted_files(), public)
        lint_problems += lint.misspelt_variables(entities, self._variables.extra, roles, definitions.read_names)
        if self._request.operation is Operation.CHECK:
            lint_problems += lint.orphan_host_vars(self._request.layers, self._session.inventory.hosts)
            if len(self._hosts) == len(self._session.inventory.hosts):  # other nodes may take what these do not
                lint_problems += lint.outranked_values(self._request.layers, self._hosts, self._variables, roles)
        else:
            self._problems += lint_problems
            lint_problems = []
        classes = ClassResolver(self._session.loader, self._variables, definitions, roles, self._variables.host_names(self._hosts))
        own_values = self._own_values(lambda: definitions)
        secrets = {name: role.required_secrets for name, role in roles.items()}
        rules = load_rules(Path(self._request.content))
        nodes, connections = [], {}
        for host in self._hosts:
            alone = self._alone(own_values, host, places.NAMES)
            node = self._host(host, alone, _USED) | self._reach(host, alone)
            connections[str(host.name)] = (host, node["connection"])
            names = self._role_names(host, alone, set(roles))
            self._check_owned(host, alone.get("roles_owned_elsewhere"), names)
            self._check_secrets(host, [s for n in names for s in secrets[n]])
            own_classes = {n: classes.role_class(n, host) for n in names}
            self._check_rules(host, rules, own_classes)
            node["roles"] = {n: c.number for n, c in own_classes.items()}
            node["gates"] = classes.gates_class(host).number
            nodes.append(node)
        self._problems += lint.shared_addresses(connections, self._variables)
        for c in classes.classes:
            self._problems += [Problem(p.path, p.message, p.file, p.line, tuple(c.nodes)) for p in c.problems]
        self._stop_on_problems(lint_problems)
        return {
            "sections": [c.values for c in classes.classes],
            "lists": self._lists.distinct,
            "nodes": nodes,
            "lint_problems": [p.to_dict() for p in merge(lint_problems)],
        }

    def _own_values(self, definitions: Callable[[], Definitions]) -> OwnValues:
        return OwnValues(self._session.loader, self._variables, self._hosts, definitions)

    def _alone(self, own_values: OwnValues, host: Any, names: tuple[str, ...]) -> dict[str, Any]:
        """What is declared for the host itself, rendered."""
        rendered = own_values.of(host, names)
        self._problems += [Problem(p.path, p.message, p.file, p.line, (str(host.name),)) for p in rendered.problems]
        return rendered.values

    def _host(self, host: Any, alone: dict[str, Any], readers: Mapping[str, Callable[[Mapping[str, Any]], Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {"name": str(host.name), "groups": list(self._variables.groups(host)), "place": {}}
        for text in places.not_texts(alone):
            self._bad_value(host, text)
        for key, read in readers.items():
            try:
                found[key] = read(alone)
            except ValueError as e:
                self._bad_value(host, str(e))
        return found

    def _shown(self, host: Any, alone: dict[str, Any]) -> dict[str, Any]:
        """A host without its spec, with the addresses of the node and its BMC."""
        address = str(alone.get("ansible_host") or alone.get("ansible_ssh_host") or host.name)
        return self._host(host, alone, _SHOWN) | {"address": address}

    def _reach(self, host: Any, alone: dict[str, Any]) -> dict[str, Any]:
        connection: dict[str, Any] = {"kind": "none"}
        try:
            connection = places.connection(str(host.name), alone)
            connection["become_password"] = connection["become"] and self._has_become_password(host)
        except ValueError as e:
            self._bad_value(host, str(e))
        lists: dict[str, int] = {}
        for name, read in (("waivers", places.waivers), ("observe", places.observed), ("roles_owned_elsewhere", places.owned_roles)):
            lists[name], problems = self._lists.number(name, alone.get(name), read)
            raw = self._variables.effective(host).get(name) if problems else None
            for way, message in problems:
                found = where_path(raw, way, self._variables.place(host, name))
                self._problems.append(Problem(name + "".join(f"[{i}]" for i in way), message, *found, (str(host.name),)))
        return {"connection": connection, **lists}

    def _has_become_password(self, host: Any) -> bool:
        """Whether one is set, unread: a node holds no secret."""
        parts = (self._variables.group_part(host), self._variables.host_part(host), self._variables.extra)
        return any(p.get(n) is not None for p in parts for n in places.BECOME_PASSWORDS) or configured()

    def _role_names(self, host: Any, alone: dict[str, Any], known: set[str]) -> list[str]:
        names = alone.get("node_roles")
        if not names:
            self._named.append(Problem("node_roles", "is not set: the node is in no profile", *_place_of(host), (str(host.name),)))
            return []
        if not isinstance(names, list):
            self._bad_value(host, f"node_roles: {names!r} is not a list of roles")
            return []
        raw = self._variables.effective(host)["node_roles"]
        for i, name in enumerate(names):
            message = self._absent(str(name), known) if name not in known else "is there twice" if name in names[:i] else ""
            if message:
                place = where_path(raw, (i,), self._variables.place(host, "node_roles"))
                self._problems.append(Problem(f"node_roles[{i}]", message, *place, (str(host.name),)))
        return [n for n in dict.fromkeys(names) if n in known]

    def _absent(self, name: str, known: set[str]) -> str:
        """Why a role cannot be resolved."""
        folder = next((p for d in self._request.role_dirs if (p := Path(d) / name).is_dir()), None)
        if folder is not None:
            return f"role {name!r} ({shown_path(str(folder))}) has no meta/argument_specs.yml"
        return f"there is no role {name!r}{did_you_mean(name, known)}"

    def _check_owned(self, host: Any, owned: Any, names: list[str]) -> None:
        """That the roles that are owned elsewhere are roles of the node: otherwise a misspelt one would be applied."""
        for role in owned if isinstance(owned, dict) else ():
            if role not in names:
                self._bad_value(host, f"roles_owned_elsewhere: {role}: is not in node_roles{did_you_mean(str(role), names)}")

    def _check_secrets(self, host: Any, names: list[str]) -> None:
        """That they are set; nobody looks at their values, so hosts of one class may differ in them."""
        variables = self._variables.effective(host) if names else {}
        self._problems += [Problem(n, "is required, but not set", nodes=(str(host.name),)) for n in names if variables.get(n) is None]

    def _check_rules(self, host: Any, rules: Mapping[str, Rule], classes: Mapping[str, HostClass]) -> None:
        """What the values of all roles of a node together break; hosts of the same classes are looked at once."""
        if any(c.problems for c in classes.values()):
            return
        key = tuple(sorted((name, c.number) for name, c in classes.items()))
        if key not in self._contradictions:
            variables = {k: v for c in classes.values() for k, v in c.values.items()}
            self._contradictions[key] = [pair for name in classes if name in rules for pair in rules[name](variables)]
        for path, message in self._contradictions[key]:
            name, way = steps(path)
            raw = self._variables.effective(host).get(name)
            found = where_path(raw, way, self._variables.place(host, name))
            self._problems.append(Problem(path, message, *found, (str(host.name),)))

    def _bad_value(self, host: Any, text: str) -> None:
        name, message = text.split(": ", 1)
        self._problems.append(Problem(name, message, *self._variables.place(host, name), (str(host.name),)))

    def _encrypted_files(self) -> frozenset[str]:
        cached = self._session.loader._FILE_CACHE  # noqa: SLF001 there is no other record of which files were encrypted
        return frozenset(f for f, data in cached.items() if SourceWasEncrypted.is_tagged_on(data))

    def _stop_on_problems(self, lint_problems: Sequence[Problem] = ()) -> None:
        if self._problems or self._named:
            raise invalid((*merge(self._named), *merge((*lint_problems, *self._problems), len(self._hosts))))


def _place_of(host: Any) -> Place:
    """Where a host is declared; the file alone where its name was not written like that (`r1-n[01:08]`, a plug-in's answer)."""
    place = where(host.name)
    return place if place != NOWHERE else (str(host.vars.get("inventory_file") or ""), 0)
