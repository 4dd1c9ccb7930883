"""Nodes that use a shared file system more slowly than others do at the same time. Pure."""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING

from clusterctl.core.gates.judging.limits import limit_text
from clusterctl.core.gates.judging.peers import FAIL, standings
from clusterctl.core.parsers.storage_throughput import READ, WRITE
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome

if TYPE_CHECKING:
    from clusterctl.core.gates.judging.storage_runs import StorageGroup
    from clusterctl_tools.storage_throughput import StorageRun, Transfer

# Fewer nodes have no median that one of them does not move much.
_LEAST_NODES = 4
# Shorter phases are not at the same time on all nodes (docs/reference/gates.md).
_LEAST_S = 1.0
# A figure of its own: that of the group has the name without it, and a history.
_OF_NODE = "node_"


def slow_clients(group: StorageGroup, slower: float) -> tuple[GateResult, ...]:
    """A warning for each node that writes or reads by more than a share (`slower`) below the median, and far outside of the spread; of the worse of both.

    Nodes whose reads a cache may have answered are compared with each other only.
    """
    worst: dict[str, GateResult] = {}
    for metric in (WRITE, READ):
        for result in _slow_at(group, metric, slower):
            if result.node not in worst or _left(result) < _left(worst[result.node]):
                worst[result.node] = result
    return tuple(worst.values())


def _left(result: GateResult) -> float:
    """Share of the limit."""
    return (result.value or 0.0) / (result.limit or 1.0)


def _slow_at(group: StorageGroup, metric: str, slower: float) -> list[GateResult]:
    transferred = {name: transfer for name, run in group.outputs.items() if (transfer := _transfer(run, metric))}
    if not transferred or median(t.duration_s for t in transferred.values()) < _LEAST_S:
        return []
    rates = {name: s.value for name in transferred for s in group.samples[name] if s.metric == metric}
    classes = {name: metric == WRITE or group.outputs[name].direct for name in rates}
    found = []
    for name, standing in standings(rates, classes, _LEAST_NODES).items():
        limit = standing.median * (1 - slower)
        if standing.outcome_at((FAIL[0], slower), (FAIL[0], slower)) is not Outcome.PASS:
            unit = next(s.unit for s in group.samples[name] if s.metric == metric)
            found.append(
                replace(
                    group.blank,
                    node=name,
                    outcome=Outcome.WARN,
                    rule="peers",
                    metric=_OF_NODE + metric,
                    reason=GateReason.BELOW_PEERS,
                    expected=f">= {limit_text(limit, 3)} {unit}",
                    found=f"{limit_text(rates[name], 3)} {unit}",
                    value=rates[name],
                    limit=limit,
                    unit=unit,
                    detail=standing.text(unit, 3),
                )
            )
    return found


def _transfer(run: StorageRun, metric: str) -> Transfer | None:
    return run.written if metric == WRITE else run.read
