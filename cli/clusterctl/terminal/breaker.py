"""The circuit breaker and the maintenance windows: lines for people, or the document `breaker`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterctl.core.timestamps import short
from clusterctl.model.running_text import fold_names
from clusterctl.terminal import out
from clusterctl.terminal.safe_text import printable

if TYPE_CHECKING:
    from clusterctl.model.pool_headroom import PoolHeadroom


def show_breaker(found: PoolHeadroom, output: str) -> None:
    """Print it."""
    if output != "table":
        out.emit(output, "breaker", _body(found))
        return
    limit = f"{found.limit_percent:g} % of the pool within {found.window_s / 60:g} min"
    gone = f" ({fold_names(found.removed)})" if found.removed else ""
    out.print_text(f"circuit breaker: {'OPEN' if found.is_open else 'closed'}; {limit}")
    out.print_text(f"pool: {found.members} members, {len(found.removed)} taken out in this window{gone}, {found.may_leave} more may leave")
    out.print_text(f"planned work: {'may start' if found.window_open else found.next_window}")
    for event in found.events:
        out.print_text(printable(f"{short(event.at)}  {event.kind}  by {event.operator}: {event.reason}"))


def _body(found: PoolHeadroom) -> dict[str, Any]:
    """The document, without its envelope. Schema: docs/reference/schemas/breaker.schema.json."""
    return {
        "state": "open" if found.is_open else "closed",
        "limit_percent": found.limit_percent,
        "window_s": found.window_s,
        "members": found.members,
        "removed": list(found.removed),
        "may_leave": found.may_leave,
        "planned_work": {"allowed": found.window_open, "next_window": found.next_window},
        "events": [{"at": e.at, "kind": e.kind.value, "operator": e.operator, "reason": e.reason} for e in found.events],
    }
