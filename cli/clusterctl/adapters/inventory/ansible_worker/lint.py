"""Slips that Ansible does not notice: misspelt variables, group_vars of no group, one address twice."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterctl.adapters.inventory.ansible_worker.origins import where_key
from clusterctl.adapters.inventory.ansible_worker.places import NAMES
from clusterctl.adapters.inventory.ansible_worker.roles import role_of
from clusterctl.core.near_match import did_you_mean
from clusterctl.model.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from clusterctl.adapters.inventory.ansible_worker.roles import Role
    from clusterctl.adapters.inventory.ansible_worker.variables import InventoryVariables

_EXTENSIONS = (".yml", ".yaml", ".json")


def unknown_variables(entities: Iterable[Mapping[str, Any]], roles: dict[str, Role]) -> Iterator[Problem]:
    """Variables that carry a role's prefix, but are no option of it."""
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


def orphan_group_vars(layers: Iterable[str], groups: Iterable[str]) -> Iterator[Problem]:
    """Folders and files in `group_vars` that no group reads: a misspelt one leaves nodes at other values."""
    known = set(groups)
    for layer in layers:
        base = Path(layer) if Path(layer).is_dir() else Path(layer).parent
        for entry in sorted(base.glob("group_vars/*")):
            name = entry.stem if entry.suffix in _EXTENSIONS else entry.name
            if name not in known and not name.startswith(".") and not name.endswith("~"):
                yield Problem("", f"there is no group {name!r}, so nothing reads this{did_you_mean(name, known)}", str(entry))


def shared_addresses(connections: Mapping[str, tuple[Any, Mapping[str, Any]]], variables: InventoryVariables) -> Iterator[Problem]:
    """Nodes of one target with the same SSH address and port: one of them would be provisioned twice, the other never."""
    first: dict[tuple[str, int], str] = {}
    for name, (host, connection) in connections.items():
        if connection["kind"] != "ssh":
            continue
        address = (connection["host"], connection["port"])
        other = first.setdefault(address, name)
        if other != name:
            file, line = variables.place(host, "ansible_host")
            yield Problem("ansible_host", f"{address[0]} port {address[1]} is the address of {other}, too", file, line, (name,))
