"""From layers and a target to nodes with their resolved, checked specs."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from clusterctl.adapters.ansible.content import content_dir
from clusterctl.adapters.inventory.invalid import spec_invalid_error
from clusterctl.adapters.inventory.layers import check_layers
from clusterctl.adapters.inventory.wire import Operation, WorkerRequest
from clusterctl.adapters.inventory.worker import inventory_kept_open, query_worker
from clusterctl.adapters.site_content import role_dirs
from clusterctl.core.digest import spec_digest
from clusterctl.core.node_names import name_problems
from clusterctl.model.node import Connection, Node, NodeSpec, Place
from clusterctl.model.problem import Problem
from clusterctl.model.topology import Host, Topology

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path


def load_nodes(
    layers: Sequence[Path],
    target: str,
    *,
    limit: str | None = None,
    extra_vars: Sequence[str] = (),
    vault_ids: Sequence[str] = (),
    content: Path | None = None,
) -> tuple[Node, ...]:
    """The nodes of `target`, in inventory order, each with its declared state.

    Args:
        layers: inventory sources, common first.
        target: any Ansible host pattern; `rack-12` finds `rack_12`.
        limit: a further pattern, or `@FILE`.
        extra_vars: as `-e`: `name=value`, JSON or `@FILE`.
        vault_ids: as `--vault-id`: `FILE` or `LABEL@FILE`.
        content: the folder with `roles/` (default: clusterctl's own, beside the roles of the site).

    Raises:
        UnknownTargetError: no node matches.
        ConfigError: a layer cannot be used.
        SpecInvalidError: the declared state breaks the schema of a role, or a name is none of a node.
    """
    return _nodes(
        query_worker(_request(Operation.NODES, layers, target, content=content, limit=limit, extra_vars=extra_vars, vault_ids=vault_ids))
    )


def load_and_lint_nodes(
    layers: Sequence[Path], target: str, *, extra_vars: Sequence[str] = (), vault_ids: Sequence[str] = (), content: Path | None = None
) -> tuple[tuple[Node, ...], tuple[Problem, ...]]:
    """As `load_nodes`; what is misspelt, and host_vars of no host, is returned beside the nodes.

    Raises:
        UnknownTargetError, ConfigError: see `load_nodes`.
        SpecInvalidError: the nodes cannot be resolved; names what is misspelt, too.
    """
    reply = query_worker(_request(Operation.CHECK, layers, target, content=content, extra_vars=extra_vars, vault_ids=vault_ids))
    return _nodes(reply), tuple(Problem.from_dict(p) for p in reply["lint_problems"])


def load_profile(
    layers: Sequence[Path], group: str, *, extra_vars: Sequence[str] = (), vault_ids: Sequence[str] = (), content: Path | None = None
) -> NodeSpec:
    """What the group `group` alone declares, as for a node without variables of its own.

    Raises:
        UnknownTargetError: there is no such group.
        ConfigError: a layer cannot be used.
        SpecInvalidError: the declared state breaks the schema of a role.
    """
    return _nodes(query_worker(_request(Operation.PROFILE, layers, group, content=content, extra_vars=extra_vars, vault_ids=vault_ids)))[
        0
    ].spec


@contextmanager
def inventory_read_once(layers: Sequence[Path], vault_ids: Sequence[str] = ()) -> Iterator[dict[str, str]]:
    """Environment variables for other processes of clusterctl, which then need not read these layers themselves while the context lasts.

    They see the files as they were at its beginning. What is not a plain file (a script, a plug-in) is read by each of them as ever.

    Raises:
        ConfigError: a layer is missing.
    """
    with inventory_kept_open(_request(Operation.NODES, layers, "all", vault_ids=vault_ids)) as variables:
        yield variables


@contextmanager
def own_inventory_read_once(layers: Sequence[Path], vault_ids: Sequence[str] = ()) -> Iterator[None]:
    """As `inventory_read_once`, for the queries of this process itself: each profile after the first takes a third of the time.

    Raises:
        ConfigError: a layer is missing.
    """
    with inventory_read_once(layers, vault_ids) as variables:
        before = {name: os.environ.get(name) for name in variables}
        os.environ.update(variables)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


def list_hosts(layers: Sequence[Path], target: str = "all", *, limit: str | None = None, vault_ids: Sequence[str] = ()) -> Topology:
    """Groups and hosts, without specs; an inventory without hosts is fine where `target` is `all`.

    Raises:
        UnknownTargetError: no node matches.
        ConfigError: a layer cannot be used.
        SpecInvalidError: a place (`rack_slot` ...) cannot be read, or a name is none of a node.
    """
    reply = query_worker(_request(Operation.HOSTS, layers, target, limit=limit, vault_ids=vault_ids))
    _check_names(h["name"] for h in reply["hosts"])
    hosts = tuple(Host(**{**h, "groups": tuple(h["groups"]), "place": Place(**h["place"])}) for h in reply["hosts"])
    groups, children = ({g: tuple(names) for g, names in reply[k].items()} for k in ("groups", "children"))
    return Topology(groups=groups, children=children, hosts=hosts)


def find_places(
    layers: Sequence[Path], paths: Sequence[tuple[str, str]], *, extra_vars: Sequence[str] = (), vault_ids: Sequence[str] = ()
) -> tuple[tuple[str, int], ...]:
    """File and line of each (node or group, path into its variables); an empty file where nothing sets the variable.

    Raises:
        UnknownTargetError: an owner is neither a node nor a group.
        ConfigError: a layer cannot be used.
    """
    request = replace(_request(Operation.PLACES, layers, "all", extra_vars=extra_vars, vault_ids=vault_ids), paths=tuple(paths))
    return tuple((file, line) for file, line in query_worker(request)["places"])


def _request(
    operation: Operation,
    layers: Sequence[Path],
    target: str,
    *,
    content: Path | None = None,
    limit: str | None = None,
    extra_vars: Sequence[str] = (),
    vault_ids: Sequence[str] = (),
) -> WorkerRequest:
    return WorkerRequest(
        operation=operation,
        layers=check_layers(layers),
        content=str((content or content_dir()).resolve()),
        role_dirs=tuple(str(d.resolve()) for d in ((content / "roles",) if content else role_dirs())),
        target=target,
        limit=limit,
        extra_vars=tuple(extra_vars),
        vault_ids=tuple(vault_ids),
    )


def _check_names(names: Iterable[str]) -> None:
    if problems := name_problems(names):
        raise spec_invalid_error(problems)


def _nodes(reply: Mapping[str, Any]) -> tuple[Node, ...]:
    _check_names(n["name"] for n in reply["nodes"])
    sections, lists = reply["sections"], [tuple(entries) for entries in reply["lists"]]
    digests: dict[tuple[tuple[str, int], ...], str] = {}
    nodes = []
    for n in reply["nodes"]:
        roles = {name: sections[number] for name, number in n["roles"].items()}
        key = tuple(n["roles"].items())
        if key not in digests:
            digests[key] = spec_digest(roles)
        spec = NodeSpec(
            roles=roles,
            gates=sections[n["gates"]],
            waivers=lists[n["waivers"]],
            digest=digests[key],
            observe=lists[n["observe"]],
            owners=lists[n["roles_owned_elsewhere"]],
        )
        nodes.append(_node(n, spec))
    return tuple(nodes)


def _node(n: Mapping[str, Any], spec: NodeSpec) -> Node:
    c = n["connection"]
    return Node(
        name=n["name"],
        groups=tuple(n["groups"]),
        connection=Connection(**{**c, "ssh_args": tuple(c["ssh_args"])}),
        place=Place(**n["place"]),
        spec=spec,
        bmc_url=n["bmc_url"],
        labels=n["labels"],
        rail_leaves=n["rail_leaves"],
    )
