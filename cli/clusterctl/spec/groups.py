"""Nodes by spec: who shares what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.node import Node, NodeSpec


@dataclass(frozen=True, slots=True)
class SpecGroup:
    """A spec and the nodes that it is declared for; `profile` is that of the first."""

    profile: str
    nodes: tuple[str, ...]
    spec: NodeSpec


def by_digest(nodes: Sequence[Node]) -> tuple[SpecGroup, ...]:
    """Group nodes by the digest of their specs, in order of appearance."""
    found: dict[str, list[Node]] = {}
    for node in nodes:
        found.setdefault(node.spec.digest, []).append(node)
    return tuple(SpecGroup(members[0].profile, tuple(n.name for n in members), members[0].spec) for members in found.values())
