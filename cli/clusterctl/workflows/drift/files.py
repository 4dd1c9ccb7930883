"""The files of a drift run: its document, further renderings of it, and metrics for node exporter."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from clusterctl.adapters import clock
from clusterctl.adapters.metrics_file import replace_metrics
from clusterctl.core.drift import metrics
from clusterctl.model.drift import DriftReport

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.adapters.run_directory import RunDir

# (report, its document, time of writing) -> file name -> text
Documents = Callable[[DriftReport, Mapping[str, Any], str], Mapping[str, str]]


def no_documents(_report: DriftReport, _body: Mapping[str, Any], _made_at: str) -> Mapping[str, str]:
    """No further files."""
    return {}


def write_files(
    rundir: RunDir,
    report: DriftReport,
    body: Mapping[str, Any],
    documents: Documents,
    *,
    target: str,
    textfile: Path | None,
    duration_s: float,
    booted: bool = False,
) -> None:
    """Write the files of the run, replacing those that exist; with `textfile`, the metrics there, too. `booted`: see `DriftOptions`."""
    text = _metrics(report, target, duration_s=duration_s, booted=booted)
    rundir.write_json("drift.json", body)
    for name, content in documents(report, body, clock.now()).items():
        rundir.write_text(name, content)
    rundir.write_text("drift.prom", text)
    if textfile:
        replace_metrics(textfile, text)


def write_metrics(textfile: Path, report: DriftReport, target: str, *, duration_s: float, booted: bool) -> None:
    """Write only the metrics, as for a run that found no node to look at."""
    replace_metrics(textfile, _metrics(report, target, duration_s=duration_s, booted=booted))


def _metrics(report: DriftReport, target: str, *, duration_s: float, booted: bool) -> str:
    """Two files with equal samples make node exporter drop both, and alerts on all nodes would take a few booted ones for all."""
    name = metrics.BOOTED if booted else metrics.ALL
    return metrics.textfile(report, target, ended_at_s=time.time(), duration_s=duration_s, name=name)
