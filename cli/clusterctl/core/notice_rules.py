"""What a notice of planned maintenance may be, and how it may change. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from clusterctl.core.timestamps import FORMAT, short
from clusterctl.model.errors import NoticeError
from clusterctl.model.notice import MaintenanceNotice, NoticeState, Period
from clusterctl.model.running_text import first_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from clusterctl.core.maintenance_windows import MaintenanceWindows

# Of the 64 KiB that a receiver must take (CloudEvents 1.0.2, size limits), the reason may need 24, where each of its 4000 characters is escaped.
_MOST_BYTES = 40_000
_QUOTES_AND_COMMA = 4


def is_open(notice: MaintenanceNotice, now: str) -> bool:
    """Whether it is neither cancelled nor over."""
    return notice.state is not NoticeState.CANCELLED and notice.period.ends_at > now


def require_announceable(nodes: Collection[str], period: Period, others: Iterable[MaintenanceNotice], now: str) -> None:
    """Raises NoticeError for a new notice that cannot be."""
    _require_ahead(period, now)
    if sum(len(n.encode()) + _QUOTES_AND_COMMA for n in nodes) > _MOST_BYTES:
        hint = "announce them rack by rack"
        raise NoticeError(detail=f"{len(nodes)} nodes do not fit into one event of 64 KiB", hint=hint)
    _require_free(nodes, period, others, now)


def changed_period(
    notice: MaintenanceNotice, begins_at: str | None, ends_at: str | None, others: Iterable[MaintenanceNotice], now: str
) -> Period:
    """When a notice is after a move; what is not given stays. Of one that has begun, only the end moves.

    Raises:
        NoticeError: it cannot move there.
    """
    _require_open(notice, now)
    period = Period(begins_at or notice.period.begins_at, ends_at or notice.period.ends_at)
    if period == notice.period:
        raise NoticeError(detail=f"that is when notice {notice.id} is already", hint="`clusterctl announce` lists all")
    if notice.period.begins_at > now:
        _require_ahead(period, now)
    elif period.begins_at != notice.period.begins_at:
        began = short(notice.period.begins_at)
        raise NoticeError(detail=f"notice {notice.id} began at {began}: its beginning cannot move", hint="only its end can: --ends TIME")
    elif period.ends_at <= now:
        raise NoticeError(detail=f"the end {short(period.ends_at)} is past", hint="give --ends a time that is still to come")
    _require_free(notice.nodes, period, (o for o in others if o.id != notice.id), now)
    return period


def require_cancellable(notice: MaintenanceNotice, now: str) -> None:
    """Raises NoticeError for one that is cancelled or over, or has begun: what happened cannot be called off."""
    _require_open(notice, now)
    if notice.period.begins_at <= now:
        hint = f"`clusterctl announce --move {notice.id} --ends TIME` ends it earlier"
        raise NoticeError(detail=f"notice {notice.id} began at {short(notice.period.begins_at)}", hint=hint)


def is_within(notice: MaintenanceNotice, windows: MaintenanceWindows) -> bool:
    """Whether planned work may take nodes out when it begins."""
    return windows.is_open(datetime.strptime(notice.period.begins_at, FORMAT).replace(tzinfo=UTC))


def _require_ahead(period: Period, now: str) -> None:
    begins, ends = short(period.begins_at), short(period.ends_at)
    if period.ends_at <= period.begins_at:
        raise NoticeError(detail=f"the end {ends} is not after the beginning {begins}", hint="correct --begins or --ends")
    if period.begins_at <= now:
        hint = "a notice announces future work; `clusterctl drain TARGET --to maintenance --reason WHY` is for work that begins now"
        raise NoticeError(detail=f"the beginning {begins} is past", hint=hint)


def _require_open(notice: MaintenanceNotice, now: str) -> None:
    if is_open(notice, now):
        return
    ended = f"ended at {short(notice.period.ends_at)}"
    how = "is cancelled" if notice.state is NoticeState.CANCELLED else ended
    raise NoticeError(detail=f"notice {notice.id} {how}", hint="announce the work anew: `clusterctl announce TARGET`")


def _require_free(nodes: Collection[str], period: Period, others: Iterable[MaintenanceNotice], now: str) -> None:
    for other in others:
        common = sorted(set(nodes) & set(other.nodes))
        if common and is_open(other, now) and period.overlaps(other.period):
            when = f"{short(other.period.begins_at)} to {short(other.period.ends_at)}"
            hint = f"`clusterctl announce --move {other.id}` or `--cancel {other.id}` changes that notice"
            raise NoticeError(detail=f"notice {other.id}, from {when}, names {first_of(common)} already", hint=hint)
