"""The report as Prometheus metrics, for node exporter's textfile collector. Names and bounded labels, no text."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from clusterctl.core.metrics_text import MetricsText
from clusterctl.model.drift import DriftKind
from clusterctl_validators.finding import Severity

if TYPE_CHECKING:
    from clusterctl.model.drift import DriftReport


# what the names of metrics begin with, behind that of the program: of a run over all nodes of a target, and over those that booted
ALL, BOOTED = "drift_", "booted_drift_"


def textfile(report: DriftReport, target: str, *, ended_at_s: float, duration_s: float, name: str = ALL) -> str:
    """Prometheus exposition format. Every kind and severity has a sample, so that alert rules see zero instead of no data."""
    metrics = MetricsText(name)
    gauge = metrics.gauge
    gauge("last_run_timestamp_seconds", "When the last drift run ended.").labels(target).set(ended_at_s)
    gauge("run_duration_seconds", "Wall time of the last drift run.").labels(target).set(duration_s)
    gauge("nodes", "Nodes that the last drift run queried.").labels(target).set(len(report.nodes))
    findings = gauge("findings", "Checks that do not hold, by what changed.", "kind", "severity")
    counts = Counter((d.kind, d.severity) for d in report.deviations)
    for kind in DriftKind:
        for severity in Severity:
            findings.labels(target, kind.value, severity.value).set(counts[kind, severity])
    of_node = gauge("node_findings", "Checks of a node that do not hold; nodes without any are left out.", "node", "kind", "severity")
    for (node, kind, severity), number in Counter((d.node, d.kind, d.severity) for d in report.deviations).items():
        of_node.labels(target, node, kind.value, severity.value).set(number)
    lost = gauge("nodes_lost", "Nodes that gave no findings.")
    lost.labels(target).set(len(report.lost))
    of_lost = gauge("node_lost", "1 for each node that gave no findings, and how.", "node", "status")
    for one in report.lost:
        of_lost.labels(target, one.node, one.status.value).set(1)
    return metrics.render()
