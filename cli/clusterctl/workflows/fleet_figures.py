"""Collects what `status --textfile` exports, from the store alone; no node is contacted."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from clusterctl.adapters.metrics_file import replace_metrics
from clusterctl.adapters.store import Store
from clusterctl.core.fleet_metrics import fleet_textfile
from clusterctl.model.fleet_figures import FleetFigures
from clusterctl.model.records import BreakerEventKind
from clusterctl.workflows.lemons import worst_serials
from clusterctl.workflows.status import overview

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.adapters.config import Config


def export_fleet(config: Config, target: str, file: Path) -> None:
    """Write the metrics of a target to a file of node exporter's folder.

    Raises:
        UnknownNodeError, StoreError: as `overview`.
        ConfigError: the file cannot be written.
    """
    replace_metrics(file, fleet_textfile(fleet_figures(config, target), target, made_at_s=time.time()))


def fleet_figures(config: Config, target: str) -> FleetFigures:
    """The record of a target."""
    shown = overview(config.store_url, target)
    names = frozenset(n.name for n in shown.nodes)
    with Store.open_to_read(config.store_url) as store:
        measured = tuple(m for m in store.measured_outcomes() if m.node in names)
        lemons = tuple(r for r in worst_serials(store, config.lemon_limits, names) if r.over_limit)
        newest = store.breaker_events(1)
    return FleetFigures(shown, measured, lemons, bool(newest) and newest[0].kind is BreakerEventKind.TRIPPED)
