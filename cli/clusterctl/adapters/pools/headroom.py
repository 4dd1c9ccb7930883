"""What may leave a pool now: the circuit breaker and the maintenance windows, checked before anything changes. Changes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from clusterctl.adapters import clock
from clusterctl.core import timestamps
from clusterctl.core.pool_limits import PoolLimits
from clusterctl.model.errors import BreakerError, OutsideWindowError, PoolError
from clusterctl.model.records import BreakerEvent, BreakerEventKind

if TYPE_CHECKING:
    from collections.abc import Collection

    from clusterctl.adapters.pools.base import Pool
    from clusterctl.adapters.store.store import Store


@dataclass(frozen=True, slots=True)
class Headroom:
    """A pool, and what its site allows to be taken out of it."""

    store: Store
    pool: Pool
    limits: PoolLimits = PoolLimits()  # noqa: RUF009 frozen

    def refusal(self, leaving: Collection[str], *, doing: str) -> str:
        """Why the members among `leaving` may not be taken out now, or an empty string."""
        error = self._error(leaving, doing, hint="")
        return str(error) if error else ""

    def require(self, leaving: Collection[str], *, doing: str, hint: str) -> None:
        """Refuse to take the members among `leaving` out where a limit forbids it.

        Raises:
            OutsideWindowError: it is planned work, and no window is open.
            BreakerError: it would be too many, or the circuit breaker is open; `doing` names the operation, `hint` how to continue.
        """
        error = self._error(leaving, doing, hint)
        if error:
            raise error

    def outside_window(self, leaving: Collection[str]) -> bool:
        """Whether taking the members among `leaving` out has to wait for a window."""
        return not self.limits.windows.is_open(_now()) and bool(self.pool.members() & set(leaving))

    def open_since(self) -> BreakerEvent | None:
        """The trip that nobody has reset yet."""
        newest = self.store.breaker_events(1)
        return newest[0] if newest and newest[0].kind is BreakerEventKind.TRIPPED else None

    def removed(self) -> frozenset[str]:
        """The nodes that were taken out in the window of the circuit breaker, which a reset starts anew."""
        since = timestamps.after(clock.now(), -self.limits.breaker.window_s)
        newest = self.store.breaker_events(1)
        reset = newest[0].at if newest and newest[0].kind is BreakerEventKind.RESET else ""
        return self.pool.removed_since(max(since, reset))

    def _error(self, leaving: Collection[str], doing: str, hint: str) -> PoolError | None:
        members = self.pool.members()
        count = len(members & set(leaving))
        if not count:
            return None
        if not self.limits.windows.is_open(_now()):
            what = f"{doing} {count} of {len(members)} pool members is planned work, and no maintenance window is open"
            return OutsideWindowError(detail=what, hint=f"{self.limits.windows.next_text(_now())}; --force with a --reason goes ahead now")
        trip = self.open_since()
        if trip is not None:
            what = f"the circuit breaker is open since {timestamps.short(trip.at)}: {trip.reason}"
            return BreakerError(
                detail=what, hint="find out why, then close it: `clusterctl breaker --reset --reason WHY`; --force ignores it"
            )
        why = self.limits.breaker.refusal(members, self.removed(), leaving, doing=doing)
        return BreakerError(detail=why, hint=hint) if why else None


def _now() -> datetime:
    return datetime.now(UTC)
