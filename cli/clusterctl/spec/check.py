"""Check everything an inventory declares: all nodes, and the profiles that have no node yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.errors import SpecInvalidError
from clusterctl.spec.groups import by_digest
from clusterctl.spec.invalid import invalid, problems_of
from clusterctl.spec.load import list_hosts, load_nodes, load_profile

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from clusterctl.spec.problem import Problem


@dataclass(frozen=True, slots=True)
class Checked:
    """What was looked at and found in order. `profiles` are those checked without a node."""

    nodes: int
    specs: int
    profiles: tuple[str, ...]


def check_inventory(
    layers: Sequence[Path], target: str | None = None, *, extra_vars: Sequence[str] = (), vault_ids: Sequence[str] = ()
) -> Checked:
    """Check all nodes and all profiles; with `target`, its nodes only.

    Raises:
        UnknownTargetError: no node matches `target`.
        ConfigError: a layer cannot be used.
        SpecInvalidError: something is wrong; every problem is listed once.
    """
    if target is not None:
        nodes = load_nodes(layers, target, extra_vars=extra_vars, vault_ids=vault_ids)
        return Checked(nodes=len(nodes), specs=len(by_digest(nodes)), profiles=())
    topology = list_hosts(layers, vault_ids=vault_ids)
    found: list[Problem] = []
    nodes = ()
    if topology.hosts:
        try:
            nodes = load_nodes(layers, "all", extra_vars=extra_vars, vault_ids=vault_ids)
        except SpecInvalidError as e:
            found += problems_of(e)
    for profile in topology.idle_profiles:
        try:
            load_profile(layers, profile, extra_vars=extra_vars, vault_ids=vault_ids)
        except SpecInvalidError as e:
            found += problems_of(e)
    if found:
        raise invalid(found)
    return Checked(nodes=len(nodes), specs=len(by_digest(nodes)), profiles=topology.idle_profiles)
