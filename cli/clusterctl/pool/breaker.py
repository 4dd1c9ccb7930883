"""The circuit breaker: a fault that seems to hit half the pool at once is more likely a fault of ours. Changes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl import clock
from clusterctl.errors import BreakerError

if TYPE_CHECKING:
    from collections.abc import Collection

    from clusterctl.pool.base import Pool


@dataclass(frozen=True, slots=True)
class Breaker:
    """How much of a pool may be taken out in one window.

    The default, 50 % in 5 minutes, is that of NVIDIA's NVSentinel. One node may always go.

    Attributes:
        limit_percent: of the members at the start of the window.
        window_s: how far back removals count.
    """

    limit_percent: float = 50.0
    window_s: float = 300.0

    def allowance(self, members: Collection[str], removed: Collection[str]) -> int:
        """How many more nodes may go, with `members` in the pool and `removed` taken out in the window."""
        limit = max(1, int((len(members) + len(removed)) * self.limit_percent / 100))
        return max(0, limit - len(removed))

    def trips(self, members: Collection[str], removed: Collection[str], wanted: Collection[str]) -> bool:
        """Whether taking the members among `wanted` out would be too many."""
        return len(set(wanted) & set(members)) > self.allowance(members, removed)


def refusal(pool: Pool, wanted: Collection[str], *, doing: str) -> str:
    """Why the members among `wanted` may not be taken out now, or an empty string; nodes that are no members take nothing out."""
    breaker = Breaker()
    members, removed = pool.members(), pool.removed_since(clock.after(clock.now(), -breaker.window_s))
    if not breaker.trips(members, removed, wanted):
        return ""
    return (
        f"{doing} {len(members & set(wanted))} of {len(members)} pool members would take out more than "
        f"{breaker.limit_percent:.0f} % within {breaker.window_s / 60:.0f} min"
    )


def demand_room(pool: Pool, wanted: Collection[str], *, doing: str, hint: str) -> None:
    """Refuse to take the members among `wanted` out where that would be too many.

    Raises:
        BreakerError: it would be; `doing` says what for, `hint` how to go on.
    """
    why = refusal(pool, wanted, doing=doing)
    if why:
        raise BreakerError(detail=why, hint=hint)
