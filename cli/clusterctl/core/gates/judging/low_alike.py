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
    from clusterctl.model.gate_result import Figure, GateResult


def low_alike(known: Mapping[str, Subject], results: Sequence[GateResult]) -> tuple[GateResult, ...]:
    """The results, with another reason and action where more than half of the nodes of a class, and three at least, are below a floor.

    They fail as before. One that is 7 % below the median of those that are low is low by itself.
    """
    shared: dict[tuple[Figure, str, str], tuple[int, int]] = {}
    for own in class_members(known, results).values():
        low = [r for r in own if _is_low(r)]
        nodes, many = {r.node for r in low}, len({r.node for r in own})
        if len(nodes) < LEAST_NODES or len(nodes) <= many / 2:
            continue
        least = median(r.own_value or 0.0 for r in low) * (1 - FAIL[1])
        shared |= {_device(r): (len(nodes), many) for r in low if (r.own_value or 0.0) >= least}
    return tuple(_shared(r, *shared[_device(r)]) if _is_low(r) and _device(r) in shared else r for r in results)


def _is_low(result: GateResult) -> bool:
    return result.outcome is Outcome.FAIL and result.reason is GateReason.BELOW_FLOOR


def _device(result: GateResult) -> tuple[Figure, str, str]:
    """What a result is about; the lowest of several stands for all of them."""
    return result.figure, result.node, result.device


def _shared(result: GateResult, low: int, many: int) -> GateResult:
    why = f"as are {low} of {many} nodes of its class: what they share, or the floor, and not this node"
    hint = (
        "look at what these nodes share: NVLink switch trays, firmware, driver, settings, and the floor itself; "
        f"then `clusterctl burnin {result.node} {gate_named(result.gate).options}`"
    )
    detail = "; ".join(filter(None, (result.detail, why)))
    return replace(result, reason=GateReason.SHARED_FAULT, detail=detail, hint=hint)
