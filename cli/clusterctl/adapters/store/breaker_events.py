"""When the circuit breaker tripped, and who reset it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select

from clusterctl.adapters.store import tables as t
from clusterctl.adapters.store.engine import reading, writing
from clusterctl.adapters.store.repository import Repository, storable_text
from clusterctl.model.records import BreakerEvent, BreakerEventKind

if TYPE_CHECKING:
    from sqlalchemy import Connection, Select


_COLUMNS = select(t.breaker_events.c.at, t.breaker_events.c.kind, t.breaker_events.c.operator, t.breaker_events.c.reason)


class BreakerRepository(Repository):
    """The events of the circuit breaker; its state is the newest one."""

    def trip_breaker(self, *, operator: str, reason: str) -> bool:
        """Open the circuit breaker until a person resets it. Returns whether that changed anything."""
        with writing(self._engine) as connection:
            newest = _events(connection, 1)
            if newest and newest[0].kind is BreakerEventKind.TRIPPED:
                return False
            self._add(connection, BreakerEventKind.TRIPPED, operator, reason)
            return True

    def reset_breaker(self, *, operator: str, reason: str) -> None:
        """Close the circuit breaker; its window starts anew."""
        with writing(self._engine) as connection:
            self._add(connection, BreakerEventKind.RESET, operator, reason)

    def breaker_events(self, limit: int) -> tuple[BreakerEvent, ...]:
        """The newest events, newest first."""
        with reading(self._engine) as connection:
            return _events(connection, limit)

    def breaker_events_since(self, moment: str) -> tuple[BreakerEvent, ...]:
        """The events at or after a moment, oldest first."""
        with reading(self._engine) as connection:
            return _rows(connection, _COLUMNS.where(t.breaker_events.c.at >= moment).order_by(t.breaker_events.c.id))

    def _add(self, connection: Connection, kind: BreakerEventKind, operator: str, reason: str) -> None:
        row = {"at": self._clock(), "kind": kind.value, "operator": operator, "reason": storable_text(reason)}
        connection.execute(insert(t.breaker_events).values(**row))


def _events(connection: Connection, limit: int) -> tuple[BreakerEvent, ...]:
    return _rows(connection, _COLUMNS.order_by(t.breaker_events.c.id.desc()).limit(limit))


def _rows(connection: Connection, query: Select[Any]) -> tuple[BreakerEvent, ...]:
    return tuple(BreakerEvent(at, BreakerEventKind(kind), operator, reason) for at, kind, operator, reason in connection.execute(query))
