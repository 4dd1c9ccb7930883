"""Notices of planned maintenance: a table, or the document `notices`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from clusterctl.core.notice_rules import is_within
from clusterctl.core.timestamps import short
from clusterctl.model.documents import ListedNotice, NoticesDocument
from clusterctl.model.notice import NoticeState
from clusterctl.model.running_text import fold_names
from clusterctl.terminal import messages, out

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.core.maintenance_windows import MaintenanceWindows
    from clusterctl.model.notice import MaintenanceNotice

_COLUMNS = ("ID", "STATE", "BEGINS", "ENDS", "NODES", "BY", "REASON")


def show_notices(notices: Sequence[MaintenanceNotice], output: str) -> None:
    """Print them."""
    if output != "table":
        out.emit(output, "notices", asdict(NoticesDocument(tuple(map(_listed, notices)))))
        return
    if not notices:
        messages.note("no planned maintenance is announced")
        return
    out.table(_COLUMNS, [_row(n) for n in notices])


def show_changed(notice: MaintenanceNotice, output: str, windows: MaintenanceWindows, *, has_receivers: bool) -> None:
    """Print one that was announced, rescheduled or cancelled, and on stderr what may be missing."""
    show_notices([notice], output)
    if not has_receivers:
        messages.note("clusterctl.yml declares no receiver of events: the notice is only in the record (docs/how-to/events.md)")
    if notice.state is not NoticeState.CANCELLED and not is_within(notice, windows):
        messages.note("no maintenance window is open when it begins: `drain` will refuse to take members out without --force")


def _row(n: MaintenanceNotice) -> tuple[str, ...]:
    return (str(n.id), n.state.value, short(n.period.begins_at), short(n.period.ends_at), fold_names(n.nodes), n.operator, n.reason)


def _listed(n: MaintenanceNotice) -> ListedNotice:
    return ListedNotice(n.id, n.state, n.target, n.nodes, n.period.begins_at, n.period.ends_at, n.reason, n.operator, n.at)
