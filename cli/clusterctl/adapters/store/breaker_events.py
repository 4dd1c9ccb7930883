"""When the circuit breaker tripped, and who reset it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import insert, select

from clusterctl.adapters.store import tables as t
from clusterctl.adapters.store.engine import reading, writing
from clusterctl.adapters.store.repository import Repository, storable_text
from clusterctl.model.records import BreakerEvent, BreakerEventKind

if TYPE_CHECKING:
    from sqlalchemy import Connection


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

    def _add(self, connection: Connection, kind: BreakerEventKind, operator: str, reason: str) -> None:
        row = {"at": self._clock(), "kind": kind.value, "operator": operator, "reason": storable_text(reason)}
        connection.execute(insert(t.breaker_events).values(**row))


def _events(connection: Connection, limit: int) -> tuple[BreakerEvent, ...]:
    events = t.breaker_events.c
    query = select(events.at, events.kind, events.operator, events.reason).order_by(events.id.desc()).limit(limit)
    return tuple(BreakerEvent(at, BreakerEventKind(kind), operator, reason) for at, kind, operator, reason in connection.execute(query))
