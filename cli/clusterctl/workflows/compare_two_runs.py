"""Collects what two runs found, and compares it."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from clusterctl.core.comparison.compare_runs import compare_runs
from clusterctl.core.gates.registry import gate_named, gate_names
from clusterctl.model.run_comparison import NodeEvidence, RunEvidence
from clusterctl.workflows.collect_report import chosen_run, collect
from clusterctl.workflows.collect_test_runs import parts_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from clusterctl.adapters.store import Store
    from clusterctl.model.gate_result import RawRecord
    from clusterctl.model.run_comparison import ComparisonDocument


def compare_two_runs(store: Store, before: str, after: str) -> ComparisonDocument:
    """The second run against the first.

    Raises:
        UnknownRunError: there is no such run, or several match.
    """
    return compare_runs(_evidence(store, before), _evidence(store, after))


def _evidence(store: Store, run_id: str) -> RunEvidence:
    """What a run found itself: evidence of earlier runs, which its page shows, is theirs."""
    run = chosen_run(store, run_id)
    report = collect(store, run, Path(run.directory))
    parts = parts_at(store.parts([s.name for s in report.sections]), run.id)
    tools = {} if report.records_of else _tools(report.records)
    nodes = {
        s.name: NodeEvidence(
            () if s.gates_earlier else s.gate_results,
            s.findings.findings if s.findings and not s.findings_earlier else (),
            parts.get(s.name, ()),
            tools.get(s.name, {}),
        )
        for s in report.sections
    }
    return RunEvidence(run, report.status, nodes)


def _tools(records: Iterable[RawRecord]) -> Mapping[str, Mapping[str, str]]:
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for record in records:
        known = record.gate in gate_names()  # a site may have had it then
        if version := gate_named(record.gate).version_of(record) if known else record.tool_version:
            found[record.node][f"{record.gate} {record.tool}"] = version
    return found
