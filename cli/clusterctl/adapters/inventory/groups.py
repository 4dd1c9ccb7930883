"""Nodes by spec: who shares what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.adapters.inventory.load import load_nodes, load_profile
from clusterctl.model.declared_state import SpecGroup

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from clusterctl.model.node import Node


def by_digest(nodes: Sequence[Node]) -> tuple[SpecGroup, ...]:
    """Group nodes by the digest of their specs, in order of appearance."""
    found: dict[str, list[Node]] = {}
    for node in nodes:
        found.setdefault(node.spec.digest, []).append(node)
    return tuple(SpecGroup(members[0].profile, tuple(n.name for n in members), members[0].spec) for members in found.values())


def load_groups(
    layers: Sequence[Path], target: str, *, limit: str | None = None, extra_vars: Sequence[str] = (), vault_ids: Sequence[str] = ()
) -> tuple[SpecGroup, ...]:
    """The distinct specs of `target`; for the name of a profile, what the profile alone declares.

    Raises:
        UnknownTargetError, ConfigError, SpecInvalidError: see `load_nodes`.
    """
    profile = target.replace("-", "_")
    if profile.startswith("profile_"):
        return (SpecGroup(profile, (), load_profile(layers, profile, extra_vars=extra_vars, vault_ids=vault_ids)),)
    return by_digest(load_nodes(layers, target, limit=limit, extra_vars=extra_vars, vault_ids=vault_ids))
