"""The records of serials, the worst first: a table, or the document `lemons`."""

from __future__ import annotations

from dataclasses import asdict, astuple
from typing import TYPE_CHECKING

from clusterctl.core.lemons.demands import counts_text
from clusterctl.core.lemons.lemon_limits import LONG_DAYS, LONG_FACTOR, SHORT_DAYS
from clusterctl.model.documents import LemonsDocument, SerialDocument
from clusterctl.model.trouble import LemonAction
from clusterctl.terminal import out
from clusterctl.terminal.safe_text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.model.trouble import TroubleRecord
    from clusterctl.model.trouble_counts import TroubleCounts

_COLUMNS = ("NODE", "PART", "SERIAL", "SCORE", "EXCLUDED", "REPAIRED", "REPEATED", "SUSPECTED", "COLLIDED", "FLAP DAYS", "BOOTS", "NEXT")
_NEXT = {
    LemonAction.NONE: "-",
    LemonAction.FULL: "burn-in of level full",
    LemonAction.RMA: "RMA",
}


def show_lemons(found: Sequence[TroubleRecord], limits: TroubleCounts, most: int, output: str) -> None:
    """Print the first `most` of them; the document has all that are given, too, up to `most`."""
    shown = found[:most]
    if output != "table":
        out.emit(output, "lemons", asdict(LemonsDocument(len(found), limits, tuple(map(_document, shown)))))
        return
    if not shown:
        out.print_text("no exclusion, repair, suspicion, collision, flap of a link or unplanned boot is recorded")
        return
    out.table(_COLUMNS, [_row(r) for r in shown])
    out.print_text(f"counts: the last {SHORT_DAYS} days/the last {LONG_DAYS} days; a score of 1 is the limit: {_limits(limits)}")
    if len(found) > most:
        out.print_text(f"and {len(found) - most} more: -n {len(found)}")


def _limits(limits: TroubleCounts) -> str:
    return f"{counts_text(limits) or 'none'} in {SHORT_DAYS} days, or {LONG_FACTOR} times as many in {LONG_DAYS}"


def _row(r: TroubleRecord) -> tuple[str, ...]:
    counts = (f"{short}/{long}" for short, long in zip(astuple(r.days_30), astuple(r.days_90), strict=True))
    what = printable(r.name) if r.name != r.node else "-"
    return r.node, what, printable(r.serial) or "-", f"{r.score:.2f}", *counts, _NEXT[r.next_action]


def _document(r: TroubleRecord) -> SerialDocument:
    return SerialDocument(
        serial=r.serial,
        kind=r.kind,
        node=r.node,
        name=r.name,
        model=r.model,
        score=round(r.score, 4),
        over_limit=r.over_limit,
        days_30=r.days_30,
        days_90=r.days_90,
        next_action=r.next_action,
        last_at=r.last_at,
    )
