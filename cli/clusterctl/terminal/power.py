"""What `clusterctl power` did: a line per node, or the document `power`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from clusterctl.model.documents import PowerDocument, PowerNode
from clusterctl.terminal import messages, out
from clusterctl.terminal.safe_text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.model.power import PowerReport

_COLUMNS = ("NODE", "RESULT", "POWER", "REACHABLE", "UPTIME", "SERIAL", "DETAIL")
_MINUTE_S = 60
_HOUR_S = 3600
_DAY_S = 86400


def note_end(report: PowerReport) -> None:
    """One line on stderr as a node ends."""
    messages.note(f"{report.node}: {report.outcome.value.replace('_', ' ')}" + (f": {printable(report.detail)}" if report.detail else ""))


def show_power(action: str, run_id: str, reports: Sequence[PowerReport], output: str) -> None:
    """Print it."""
    if output == "table":
        out.table(_COLUMNS, [_row(r) for r in reports])
    else:
        out.emit(output, "power", asdict(PowerDocument(action, run_id, tuple(_document(r) for r in reports))))


def uptime(seconds: float) -> str:
    """`3d 4h`, `4h 12m`, `12m 3s`: the two largest units."""
    for size, unit, small, name in ((_DAY_S, "d", _HOUR_S, "h"), (_HOUR_S, "h", _MINUTE_S, "m"), (_MINUTE_S, "m", 1, "s")):
        if seconds >= size:
            return f"{int(seconds // size)}{unit} {int(seconds % size // small)}{name}"
    return f"{int(seconds)}s"


def _row(r: PowerReport) -> tuple[str, ...]:
    up = uptime(r.boot.uptime_s) if r.boot else "-"
    outcome = r.outcome.value.replace("_", " ")
    return r.node, outcome, r.power, "yes" if r.boot else "no", up, printable(r.serial) or "-", printable(r.detail)


def _document(r: PowerReport) -> PowerNode:
    return PowerNode(
        name=r.node,
        outcome=r.outcome,
        power=r.power,
        reachable=r.boot is not None,
        uptime_s=r.boot.uptime_s if r.boot else None,
        boot_id=r.boot.boot_id if r.boot else None,
        serial=r.serial,
        detail=r.detail,
    )
