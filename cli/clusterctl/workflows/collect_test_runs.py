"""Collects, for each node of a run, what its test run is written from."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from clusterctl.core import timestamps
from clusterctl.model.errors import ConfigError
from clusterctl.model.records import RunStatus
from clusterctl.model.run_report import GateSpan, NodeTestRun

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from clusterctl.adapters.store import Store
    from clusterctl.model.gate_result import RawRecord
    from clusterctl.model.part import Part, PartRow
    from clusterctl.model.run_report import RunReport


def collect_test_runs(store: Store, report: RunReport) -> Iterator[NodeTestRun]:
    """The nodes of a run, in the order of its report.

    Raises:
        ConfigError: the run goes on.
    """
    run_id = report.run.id
    if report.status == RunStatus.RUNNING.value:
        raise ConfigError(detail=f"{run_id} has not ended", hint="wait for it: `clusterctl status` shows what runs")
    parts = parts_at(store.parts([s.name for s in report.sections]), run_id)
    spans = {} if report.records_of else gate_spans(report.records)
    for section in report.sections:
        answered = [at for run, at in store.validations(section.name) if run == run_id]
        yield NodeTestRun(section, parts.get(section.name, ()), answered[-1] if answered else "", spans.get(section.name, {}))


def parts_at(rows: Iterable[PartRow], run_id: str) -> Mapping[str, tuple[Part, ...]]:
    """Node -> its parts as they were known when the run ended: ids of runs sort by time."""
    found: dict[str, list[Part]] = defaultdict(list)
    for row in rows:
        if row.first_run <= run_id and (not row.ended_run or row.ended_run > run_id):
            found[row.node].append(row.part)
    return {node: tuple(own) for node, own in found.items()}


def gate_spans(records: Iterable[RawRecord]) -> Mapping[str, Mapping[str, GateSpan]]:
    """Node -> gate -> from the start of its first command to the end of its last."""
    found: dict[str, dict[str, GateSpan]] = defaultdict(dict)
    for record in records:
        try:
            began = timestamps.in_utc(record.started_at)
            ended = timestamps.after(began, record.duration_s)
        except (ValueError, OverflowError):  # what a node sends may be anything
            continue
        own = found[record.node]
        known = own.get(record.gate, GateSpan(began, ended))
        own[record.gate] = GateSpan(min(known.began_at, began), max(known.ended_at, ended))
    return found
