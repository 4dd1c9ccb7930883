"""Adds to the report of a run what only its page shows: pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.workflows.collect_curves import with_curves
from clusterctl.workflows.collect_loads import with_loads
from clusterctl.workflows.collect_timeline import with_timeline

if TYPE_CHECKING:
    from clusterctl.adapters.store import Store
    from clusterctl.model.run_report import RunReport


def with_pictures(store: Store, report: RunReport) -> RunReport:
    """The report with measurements over time, loads of GPUs, and what took the time of the run.

    Raises:
        StoreError: the database cannot be read.
    """
    return with_timeline(store, with_loads(store, with_curves(store, report)))
