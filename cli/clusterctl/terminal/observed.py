"""Observed checks and gates with their flake rates: a table, or the document `observed`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from clusterctl.model.documents import ObservedDocument, ObservedItem
from clusterctl.terminal import out
from clusterctl.terminal.safe_text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.model.observed import ObservedRecord

_COLUMNS = ("CHECK OR GATE", "RULE", "NODES", "RUNS", "FAILED", "COULD NOT RUN", "REPEATED", "DENIED", "FLAKE RATE")


def show_observed(found: Sequence[ObservedRecord], days: int, most: int, output: str) -> None:
    """Print the first `most` of them."""
    shown = found[:most]
    if output != "table":
        items = tuple(ObservedItem(**asdict(r), flake_rate=None if r.flake_rate is None else round(r.flake_rate, 4)) for r in shown)
        out.emit(output, "observed", asdict(ObservedDocument(days, len(found), items)))
    elif not shown:
        out.print_text(f"nothing that is observed was seen in the last {days} days")
    else:
        out.table(_COLUMNS, [_row(r) for r in shown])
        if len(found) > most:
            out.print_text(f"and {len(found) - most} more: -n {len(found)}")


def _row(r: ObservedRecord) -> tuple[str, ...]:
    rate = "no repeat yet" if r.flake_rate is None else f"{r.flake_rate:.0%}"
    counts = (r.nodes, r.runs, r.failed, r.could_not_run, r.repeated, r.contradicted)
    return printable(r.name), printable(r.rule) or "-", *map(str, counts), rate
