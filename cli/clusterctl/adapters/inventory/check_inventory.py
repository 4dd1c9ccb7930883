"""Check everything an inventory declares: all nodes, and the profiles that have no node yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.adapters.inventory.groups import by_digest
from clusterctl.adapters.inventory.invalid import problems_of, spec_invalid_error
from clusterctl.adapters.inventory.load import list_hosts, load_nodes, load_profile
from clusterctl.model.declared_state import InventoryCheck
from clusterctl.model.errors import SpecInvalidError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from clusterctl.model.node import Node, NodeSpec
    from clusterctl.model.problem import Problem

    Judge = Callable[[NodeSpec, Sequence[str]], Sequence[Problem]]


def check_inventory(
    layers: Sequence[Path],
    target: str | None = None,
    *,
    extra_vars: Sequence[str] = (),
    vault_ids: Sequence[str] = (),
    judge: Judge,
) -> InventoryCheck:
    """Check all nodes and all profiles; with `target`, its nodes only. `judge` says what is wrong with a spec beyond its schemas.

    Raises:
        UnknownTargetError: no node matches `target`.
        ConfigError: a layer cannot be used.
        SpecInvalidError: something is wrong; every problem is listed once.
    """
    if target is not None:
        nodes = load_nodes(layers, target, extra_vars=extra_vars, vault_ids=vault_ids)
        _refuse(_judged(nodes, judge))
        return InventoryCheck(nodes=len(nodes), specs=len(by_digest(nodes)), profiles=())
    topology = list_hosts(layers, vault_ids=vault_ids)
    found: list[Problem] = []
    nodes = ()
    if topology.hosts:
        try:
            nodes = load_nodes(layers, "all", extra_vars=extra_vars, vault_ids=vault_ids)
            found += _judged(nodes, judge)
        except SpecInvalidError as e:
            found += problems_of(e)
    for profile in topology.idle_profiles:
        try:
            found += judge(load_profile(layers, profile, extra_vars=extra_vars, vault_ids=vault_ids), (profile,))
        except SpecInvalidError as e:
            found += problems_of(e)
    _refuse(found)
    return InventoryCheck(nodes=len(nodes), specs=len(by_digest(nodes)), profiles=topology.idle_profiles)


def _judged(nodes: Sequence[Node], judge: Judge) -> list[Problem]:
    """What is wrong with the specs of nodes, each distinct one judged once."""
    alike: dict[tuple[str, int], list[Node]] = {}
    for node in nodes:  # nodes with the same gates share one object of them, which is not read for each
        alike.setdefault((node.spec.digest, id(node.spec.gates)), []).append(node)
    return [p for members in alike.values() for p in judge(members[0].spec, tuple(n.name for n in members))]


def _refuse(found: Sequence[Problem]) -> None:
    if found:
        raise spec_invalid_error(found)
