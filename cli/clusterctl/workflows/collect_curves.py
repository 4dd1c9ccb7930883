"""Adds to the report of a run how what is to be looked at was measured over time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clusterctl.core.node_curves import curves, wanted_curves

if TYPE_CHECKING:
    from clusterctl.adapters.store import Store
    from clusterctl.model.run_report import RunReport


def with_curves(store: Store, report: RunReport) -> RunReport:
    """The report with curves that end with its run.

    Raises:
        StoreError: the database cannot be read.
    """
    wanted, left_out = wanted_curves(report.sections)
    if not wanted:
        return report
    parts = store.parts({key.node for key in wanted})
    recorded = replace(store.recorded_curves(wanted, report.run.started_at), parts=parts)
    return replace(report, curves=curves(report.sections, wanted, left_out, recorded))
