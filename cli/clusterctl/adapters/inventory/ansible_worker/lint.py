"""Mistakes that Ansible does not notice: misspelt variables, group_vars of no group, host_vars of no host, one address twice."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ansible import constants

from clusterctl.adapters.inventory.ansible_worker.bmcs import FIELDS
from clusterctl.adapters.inventory.ansible_worker.origins import NOWHERE, where_key
from clusterctl.adapters.inventory.ansible_worker.places import BECOME_PASSWORDS, CONNECTION, NAMES, OWN_VARIABLES
from clusterctl.adapters.inventory.ansible_worker.roles import role_of
from clusterctl.core.near_match import did_you_mean, misspelling_of
from clusterctl.model.node import one_spelling
from clusterctl.model.problem import Problem, shown_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from clusterctl.adapters.inventory.ansible_worker.roles import Role
    from clusterctl.adapters.inventory.ansible_worker.variables import InventoryVariables

_EXTENSIONS = (".yml", ".yaml", ".json")
_GATES = ("gates_levels", "gates_settings", "gates_baselines", "gates_peer_address", "gates_allowed_programs")


def unknown_variables(entities: Iterable[Mapping[str, Any]], roles: dict[str, Role]) -> Iterator[Problem]:
    """Variables that carry a role's prefix, but are not options of it."""
    verdicts: dict[str, Role | None] = {}
    for entity in entities:
        for name in entity:
            if name not in verdicts:
                role = None if name in NAMES else role_of(name, roles)
                verdicts[name] = role if role and name not in role.options else None
            owner = verdicts[name]
            if owner:
                file, line = where_key(entity, name)
                yield Problem(str(name), f"role {owner.name} has no such option{did_you_mean(name, owner.options)}", file, line)


def misspelt_variables(
    entities: Sequence[Mapping[str, Any]], extra: Mapping[str, Any], roles: dict[str, Role], read: frozenset[str]
) -> Iterator[Problem]:
    """Variables that nothing reads and that are spelled almost like one that is read: `hugepage_pages`, `node_role`, `bmc_urls`.

    Only what people write counts, in a file or after `-e` (`extra`): an inventory plug-in makes no spelling mistakes. `own_variables` lists
    names that are meant as they are.
    """
    defined = {str(n) for entity in entities for n in entity}
    known = {*NAMES, *FIELDS.values(), *_GATES, *(o for r in roles.values() for o in r.options), *(read & defined)}
    accepted = known | read | _own_variables(entities)
    verdicts: dict[str, str] = {}
    for entity in entities:
        for name in entity:
            if name not in verdicts:
                judged = name not in accepted and role_of(name, roles) is None
                verdicts[name] = _misspelling(name, known) if judged else ""
            place = ("--extra-vars", 0) if entity is extra else where_key(entity, name) if verdicts[name] else NOWHERE
            if verdicts[name] and place != NOWHERE:
                silence = f"if it is meant as it is, list it in {OWN_VARIABLES}"
                yield Problem(str(name), f"nothing reads it; did you mean {verdicts[name]!r}? ({silence})", *place)


def _misspelling(name: Any, known: set[str]) -> str:
    candidates = ansible_names() if str(name).startswith("ansible_") else known
    return "" if name in candidates else misspelling_of(name, candidates)


@lru_cache(maxsize=1)
def ansible_names() -> frozenset[str]:
    """The variables by which Ansible itself is configured to reach a host and to act there, from its own documentation of them."""
    from ansible.plugins import loader  # noqa: PLC0415 only where a name is in doubt

    options = list(constants.config.get_configuration_definitions().values())
    for plugins, name in ((loader.connection_loader, "ssh"), (loader.become_loader, "sudo"), (loader.shell_loader, "sh")):
        plugins.get(name, class_only=True)  # reads its documentation
        options += constants.config.get_configuration_definitions(plugins.subdir.removesuffix("_plugins"), name).values()
    documented = {v["name"] for o in options for v in o.get("vars") or []}
    return frozenset(
        n for n in {*documented, *constants.COMMON_CONNECTION_VARS, *CONNECTION, *BECOME_PASSWORDS} if n.startswith("ansible_")
    )


def _own_variables(entities: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    lists = (entity.get(OWN_VARIABLES) for entity in entities)
    return frozenset(str(name) for names in lists if isinstance(names, list) for name in names)


def orphan_group_vars(layers: Iterable[str], groups: Iterable[str]) -> Iterator[Problem]:
    """Folders and files in `group_vars` that no group reads: a misspelt one leaves nodes at other values."""
    return _orphans(layers, "group", set(groups))


def orphan_host_vars(layers: Iterable[str], hosts: Iterable[str]) -> Iterator[Problem]:
    """Folders and files in `host_vars` that no node reads."""
    return _orphans(layers, "host", set(hosts))


def _orphans(layers: Iterable[str], kind: str, known: set[str]) -> Iterator[Problem]:
    for layer in layers:
        base = Path(layer) if Path(layer).is_dir() else Path(layer).parent
        for entry in sorted(base.glob(f"{kind}_vars/*")):
            name = entry.stem if entry.suffix in _EXTENSIONS else entry.name
            if name not in known and not name.startswith(".") and not name.endswith("~"):
                yield Problem("", f"there is no {kind} {name!r}, so nothing reads this{did_you_mean(name, known)}", str(entry))


def outranked_values(
    layers: Sequence[str], hosts: Sequence[Any], variables: InventoryVariables, roles: dict[str, Role]
) -> Iterator[Problem]:
    """Options of roles that a later layer sets in `all`, while each of all `hosts` has the value of a group in an earlier layer.

    A default in the layer of what outranks it is meant so.
    """
    written = variables.of_group("all")
    for name in (n for n in written if role_of(n, roles)):
        place = where_key(written, name)
        winners = [] if place == NOWHERE else [variables.place(h, name) for h in hosts]
        if winners and all(_layer_of(layers, file) < _layer_of(layers, place[0]) for file, _ in winners):
            file, line = winners[0]
            why = f"any group outranks all, and {shown_path(file)}:{line} sets it; write it in group_vars of that group, or of a rack"
            yield Problem(str(name), f"no node takes this value: {why}", *place)


def _layer_of(layers: Sequence[str], file: str) -> int:
    """The number of the last layer that has the file; that of none is higher, so that nothing is reported of it."""
    return max((i for i, layer in enumerate(layers) if file and Path(file).is_relative_to(layer)), default=len(layers))


def shared_addresses(connections: Mapping[str, tuple[Any, Mapping[str, Any]]], variables: InventoryVariables) -> Iterator[Problem]:
    """Nodes of one target with the same SSH address and port: one of them would be provisioned twice, the other never."""
    first: dict[tuple[str, int], str] = {}
    for name, (host, connection) in connections.items():
        if connection["kind"] != "ssh":
            continue
        address = (one_spelling(connection["host"]), connection["port"])
        other = first.setdefault(address, name)
        if other != name:
            file, line = variables.place(host, "ansible_host")
            yield Problem("ansible_host", f"{address[0]} port {address[1]} is the address of {other}, too", file, line, (name,))
