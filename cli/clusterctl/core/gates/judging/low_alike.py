"""Below the floor, and so are most nodes of the class, by as much: what they share, or the floor, and no node is the reason. Pure."""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING

from clusterctl.core.gates.judging.peers import FAIL
from clusterctl.core.gates.judging.slow_classes import class_members
from clusterctl.core.gates.registry import gate_named
from clusterctl.core.rack_causes import LEAST_NODES
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import GateResult


def low_alike(known: Mapping[str, Subject], results: Sequence[GateResult]) -> tuple[GateResult, ...]:
    """The results, with another reason and action where more than half of the nodes of a class, and three at least, are below a floor.

    They fail as before. One that is 7 % below the median of those that are low is low by itself.
    """
    shared: dict[GateResult, GateResult] = {}
    for own in class_members(known, results).values():
        low = [r for r in own if r.outcome is Outcome.FAIL and r.reason is GateReason.BELOW_FLOOR]
        nodes, many = {r.node for r in low}, len({r.node for r in own})
        if len(nodes) < LEAST_NODES or len(nodes) <= many / 2:
            continue
        middle = median(r.own_value or 0.0 for r in low)
        shared |= {r: _shared(r, len(nodes), many) for r in low if (r.own_value or 0.0) >= middle * (1 - FAIL[1])}
    return tuple(shared.get(r, r) for r in results)


def _shared(result: GateResult, low: int, many: int) -> GateResult:
    why = f"as are {low} of {many} nodes of its class: what they share, or the floor, and not this node"
    hint = (
        "look at what these nodes share: NVLink switch trays, firmware, driver, settings, and the floor itself; "
        f"then `clusterctl burnin {result.node} {gate_named(result.gate).options}`"
    )
    detail = "; ".join(filter(None, (result.detail, why)))
    return replace(result, reason=GateReason.SHARED_FAULT, detail=detail, hint=hint)
