"""The record as Prometheus metrics, for node exporter's textfile collector: states, gates, lemons, breaker. Names and bounded labels, no text of nodes."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING

from clusterctl.core.metrics_text import MetricsText
from clusterctl.model.gate_result import Outcome
from clusterctl.model.repair import NextAction
from clusterctl.model.run_report import WORST_FIRST
from clusterctl.model.state import State
from clusterctl.model.trouble import LemonAction

if TYPE_CHECKING:
    from clusterctl.model.fleet_figures import FleetFigures

_BAD = frozenset({Outcome.FAIL, Outcome.COULD_NOT_RUN})


def fleet_textfile(figures: FleetFigures, target: str, *, made_at_s: float) -> str:
    """Prometheus exposition format. Every state, action and outcome has a sample, so that alert rules see zero instead of no data."""
    metrics = MetricsText()
    gauge = metrics.gauge
    overview = figures.overview
    gauge("fleet_updated_timestamp_seconds", "When this file was written.").labels(target).set(made_at_s)
    states = Counter(n.state for n in overview.nodes)
    of_state = gauge("fleet_nodes", "Nodes by state.", "state")
    for state in State:
        of_state.labels(target, state.value).set(states[state])
    _to_do(metrics, figures, target)
    since = gauge("node_state_since_timestamp_seconds", "When the node entered its present state.", "node", "rack", "state")
    for node in overview.nodes:
        since.labels(target, node.name, node.rack, node.state.value).set(datetime.fromisoformat(node.since).timestamp())
    silent = gauge("node_unanswered", "1 for each node whose newest validation gave no findings, and how.", "node", "status")
    unanswered = [overview.unanswered[n.name] for n in overview.nodes if n.name in overview.unanswered]
    gauge("fleet_nodes_unanswered", "Nodes whose newest validation gave no findings.").labels(target).set(len(unanswered))
    for one in unanswered:
        silent.labels(target, one.node, one.status).set(1)
    gauge("fleet_unfinished_runs", "Runs without a recorded end whose process is gone.").labels(target).set(len(overview.unfinished))
    gauge("breaker_open", "1 while the circuit breaker lets nothing leave the pool.").labels(target).set(int(figures.breaker_open))
    of_gate = gauge("gate_nodes", "Nodes by the worst outcome of their newest measurement of a gate.", "gate", "outcome")
    bad = gauge("node_gate_bad", "1 where the newest measurement of a gate on a node failed or could not run.", "node", "gate", "outcome")
    worst = _worst_outcomes(figures)
    counts = Counter((gate, outcome) for (gate, _), outcome in worst.items())
    for gate in sorted({gate for gate, _ in worst}):
        for outcome in Outcome:
            of_gate.labels(target, gate, outcome.value).set(counts[gate, outcome])
    for (gate, name), outcome in worst.items():
        if outcome in _BAD:
            bad.labels(target, name, gate, outcome.value).set(1)
    actions = Counter(r.next_action for r in figures.lemons)
    lemons = gauge("lemons", "Serials over a limit of lemon_limits, by what is due.", "action")
    for action in LemonAction:
        lemons.labels(target, action.value).set(actions[action])
    score = gauge("lemon_score", "Count / limit of each serial over a limit; 1 is the limit.", "node", "kind", "part", "serial")
    for record in figures.lemons:
        score.labels(target, record.node, record.kind, record.name, record.serial).set(record.score)
    return metrics.render()


def _to_do(metrics: MetricsText, figures: FleetFigures, target: str) -> None:
    counts = Counter(n.next_action for n in figures.overview.nodes)
    gauge = metrics.gauge("fleet_nodes_to_do", "Nodes that were taken out, by what to do first.", "next_action")
    for action in NextAction:
        gauge.labels(target, action.value).set(counts[action.value])


def _worst_outcomes(figures: FleetFigures) -> dict[tuple[str, str], Outcome]:
    """(gate, node) -> the worst outcome of its devices."""
    worst: dict[tuple[str, str], Outcome] = {}
    for one in figures.measured:
        key = (one.gate, one.node)
        worst[key] = min(worst.get(key, one.outcome), one.outcome, key=WORST_FIRST.__getitem__)
    return worst
