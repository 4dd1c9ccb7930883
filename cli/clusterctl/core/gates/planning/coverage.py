"""What a pair schedule covers: proved from the plan, reported with the results. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.core.gates.planning.devices import hcas_of
from clusterctl.core.gates.planning.step import Side

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.core.gates.planning.gate_plan import GatePlan
    from clusterctl.model.node import Node


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a set of nodes the pair schedule reaches.

    Attributes:
        pairs: pairs of nodes that meet, of `possible_pairs`.
        devices: HCAs that are server and client with at least one partner, of `known_devices`.
        uncovered: `node/device` of the others.
    """

    nodes: int
    pairs: int
    possible_pairs: int
    devices: int
    known_devices: int
    uncovered: tuple[str, ...]


def coverage(nodes: Sequence[Node], plan: GatePlan) -> Coverage:
    """What the pair gates of a plan cover of `nodes`."""
    known = {(n.name, h.name) for n in nodes for h in hcas_of(n)}
    steps = [(node, s) for node, own in plan.steps.items() for s in own if s.peer]
    servers, clients = ({(node, s.device) for node, s in steps if s.side is side} for side in (Side.SERVER, Side.CLIENT))
    met = servers & clients & known
    pairs = {frozenset((node, s.peer)) for node, s in steps}
    possible = len(nodes) * (len(nodes) - 1) // 2
    uncovered = tuple(sorted(f"{node}/{device}" for node, device in known - met))
    return Coverage(len(nodes), len(pairs), possible, len(met), len(known), uncovered)
