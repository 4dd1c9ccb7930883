"""Notices of planned maintenance: a row per change, none is ever altered. What stands now is the newest row of a notice."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, insert, select, update

from clusterctl.adapters.store import tables as t
from clusterctl.adapters.store.engine import reading, writing
from clusterctl.adapters.store.repository import Repository, slices, storable_text
from clusterctl.core import notice_rules
from clusterctl.core.timestamps import after
from clusterctl.model.errors import UnknownNoticeError
from clusterctl.model.notice import MaintenanceNotice, NoticeState, Period

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection, Row, Select


class NoticeRepository(Repository):
    """Notices name nodes without a foreign key: what was announced stays, whatever becomes of the record of a node."""

    def announce(self, target: str, nodes: Iterable[str], period: Period, *, operator: str, reason: str) -> MaintenanceNotice:
        """Record a new notice.

        Raises:
            NoticeError: it does not lie in the future, or another one names one of the nodes for a part of it.
        """
        names = sorted(set(nodes))
        with writing(self._engine) as connection:
            _lock(connection, names)
            now = self._clock()
            notice_rules.require_announceable(names, period, _newest(connection), now)
            new = MaintenanceNotice(0, 0, NoticeState.PLANNED, "", target, tuple(names), period, reason, operator)
            added = _record_change(connection, new, now)
            connection.execute(update(t.notices).where(t.notices.c.id == added).values(notice=added))
            return _notice(connection, added)

    def move_notice(
        self, notice_id: int, begins_at: str | None, ends_at: str | None, *, operator: str, reason: str = ""
    ) -> MaintenanceNotice:
        """Give it another time; without a `reason`, it keeps its own.

        Raises:
            UnknownNoticeError: there is none with this id.
            NoticeError: it cannot move there.
        """
        with writing(self._engine) as connection:
            notice, now = _locked(connection, notice_id), self._clock()
            period = notice_rules.changed_period(notice, begins_at, ends_at, _newest(connection), now)
            changed = replace(notice, state=NoticeState.MOVED, period=period, operator=operator, reason=reason or notice.reason)
            _record_change(connection, changed, now)
            return _notice(connection, notice_id)

    def cancel_notice(self, notice_id: int, *, operator: str, reason: str) -> MaintenanceNotice:
        """Call it off.

        Raises:
            UnknownNoticeError: there is none with this id.
            NoticeError: it has begun, is over or was cancelled before.
        """
        with writing(self._engine) as connection:
            notice, now = _locked(connection, notice_id), self._clock()
            notice_rules.require_cancellable(notice, now)
            _record_change(connection, replace(notice, state=NoticeState.CANCELLED, operator=operator, reason=reason), now)
            return _notice(connection, notice_id)

    def notices(self) -> tuple[MaintenanceNotice, ...]:
        """All notices as they stand, by beginning."""
        with reading(self._engine) as connection:
            return _newest(connection)

    def open_notices(self) -> tuple[MaintenanceNotice, ...]:
        """Those that are neither cancelled nor over, by beginning."""
        now = self._clock()
        return tuple(n for n in self.notices() if notice_rules.is_open(n, now))

    def notice_changes_since(self, moment: str) -> tuple[MaintenanceNotice, ...]:
        """The changes of all notices at or after a moment, oldest first."""
        with reading(self._engine) as connection:
            return _rows(connection, select(t.notices).where(t.notices.c.at >= moment).order_by(t.notices.c.id))


def _locked(connection: Connection, notice_id: int) -> MaintenanceNotice:
    """The notice, with its first row and its nodes locked until the transaction ends."""
    if connection.execute(select(t.notices.c.id).where(t.notices.c.id == notice_id).with_for_update()).first() is None:
        raise UnknownNoticeError(notice=notice_id)
    notice = _notice(connection, notice_id)
    _lock(connection, notice.nodes)
    return notice


def _record_change(connection: Connection, notice: MaintenanceNotice, at: str) -> int:
    """Returns its number. A change is later than the one before, also where the clock of another controller is ahead: events are sent in the order of time."""
    if notice.at:
        at = max(at, after(notice.at, 1e-6))
    row = {
        "notice": notice.id,
        "kind": notice.state.value,
        "at": at,
        "target": storable_text(notice.target),
        "nodes": list(notice.nodes),
        "begins_at": notice.period.begins_at,
        "ends_at": notice.period.ends_at,
        "reason": storable_text(notice.reason),
        "operator": notice.operator,
    }
    key = connection.execute(insert(t.notices).values(**row)).inserted_primary_key
    return int(key[0]) if key else 0


def _lock(connection: Connection, names: Iterable[str]) -> None:
    """Two notices of one node are checked one after the other; SQLite has one writer anyway."""
    for part in slices(names):
        connection.execute(select(t.nodes.c.name).where(t.nodes.c.name.in_(part)).order_by(t.nodes.c.name).with_for_update()).all()


def _newest(connection: Connection) -> tuple[MaintenanceNotice, ...]:
    newest = select(func.max(t.notices.c.id)).group_by(t.notices.c.notice)
    query = select(t.notices).where(t.notices.c.id.in_(newest))
    return _rows(connection, query.order_by(t.notices.c.begins_at, t.notices.c.notice))


def _notice(connection: Connection, notice_id: int) -> MaintenanceNotice:
    """As it stands now. An id that is only that of a later change names no notice.

    Raises:
        UnknownNoticeError: there is none with this id.
    """
    found = _rows(connection, select(t.notices).where(t.notices.c.notice == notice_id).order_by(t.notices.c.id.desc()).limit(1))
    if not found:
        raise UnknownNoticeError(notice=notice_id)
    return found[0]


def _rows(connection: Connection, query: Select[Any]) -> tuple[MaintenanceNotice, ...]:
    return tuple(_of_row(row) for row in connection.execute(query))


def _of_row(row: Row[Any]) -> MaintenanceNotice:
    period = Period(row.begins_at, row.ends_at)
    return MaintenanceNotice(
        row.notice, row.id, NoticeState(row.kind), row.at, row.target, tuple(row.nodes), period, row.reason, row.operator
    )
