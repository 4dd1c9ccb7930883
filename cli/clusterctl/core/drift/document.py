"""The report as a document. Schema: docs/reference/schemas/drift.schema.json."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from clusterctl.core.repairs import repair_of_deviation
from clusterctl.model.drift import DriftKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from clusterctl.model.drift import DriftReport


def drift_document(run_id: str, target: str, report: DriftReport, actions: Iterable[Mapping[str, str]] = ()) -> dict[str, Any]:
    """Plain JSON values."""
    counts = Counter(d.kind for d in report.deviations)
    return {
        "run_id": run_id,
        "target": target,
        "summary": {"nodes": len(report.nodes), "lost": len(report.lost), **{k.value: counts[k] for k in DriftKind}},
        "views": dict(report.views),
        "cpu_quotas": dict(report.cpu_quotas),
        "findings": [
            {
                "node": d.node,
                "check": d.check,
                "role": d.role,
                "kind": d.kind.value,
                "severity": d.severity.value,
                "expected": d.expected,
                "found": d.found,
                "expected_then": d.then,
                "hint": d.hint,
                **repair_of_deviation(d).to_json(),
                "first_seen": d.first_seen,
                "last_seen": d.last_seen,
            }
            for d in report.deviations
        ],
        "lost": [{"node": x.node, "status": x.status.value, "detail": x.detail} for x in report.lost],
        "actions": [dict(a) for a in actions],
    }
