"""Adds to the report of a run what took its time, from the run directory and the record."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from clusterctl.adapters.phase_files import read_phases
from clusterctl.core.timeline_spans import TimeSources, run_timeline
from clusterctl.model.errors import ConfigError
from clusterctl.model.records import RunStatus
from clusterctl.workflows.collect_test_runs import gate_spans

if TYPE_CHECKING:
    from clusterctl.adapters.store import Store
    from clusterctl.model.run_report import RunReport
    from clusterctl.model.run_timeline import PhasePart

_ANSWERS_ONLY = "validate"


def with_timeline(store: Store, report: RunReport) -> RunReport:
    """The report with the phases of its nodes; times that are missing or damaged are a reason, never an error.

    Raises:
        StoreError: the database cannot be read.
    """
    run = report.run
    damaged = ""
    parts: tuple[PhasePart, ...] = ()
    try:
        parts = read_phases(Path(run.directory)) if run.directory else ()
    except ConfigError as e:
        damaged = str(e)
    # What was planned and did not come back has a record that nothing was measured for.
    measured = () if report.records_of else (r for r in report.records if r.attempts)
    is_over = report.status != RunStatus.RUNNING.value
    # The end of a killed run is recorded by the run that takes it over, maybe days later.
    ended_at = "" if run.status is RunStatus.ABANDONED else run.finished_at if is_over else report.made_at
    sources = TimeSources(
        run.started_at,
        ended_at,
        is_over,
        tuple(s.name for s in report.sections),
        parts,
        {s.name: s.steps for s in report.sections},
        store.answer_times(run.id) if run.verb == _ANSWERS_ONLY else {},
        gate_spans(measured),
        damaged,
        run.finished_at or report.made_at,
    )
    return replace(report, timeline=run_timeline(sources))
