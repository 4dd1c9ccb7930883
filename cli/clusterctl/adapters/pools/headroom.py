"""The circuit breaker on a pool: how many of its members may leave now. Changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.adapters import clock
from clusterctl.core import timestamps
from clusterctl.model.errors import BreakerError

if TYPE_CHECKING:
    from collections.abc import Collection

    from clusterctl.adapters.pools.base import Pool
    from clusterctl.core.breaker import Breaker


def refusal(pool: Pool, leaving: Collection[str], breaker: Breaker, *, doing: str) -> str:
    """Why the members among `leaving` may not be taken out now, or an empty string."""
    removed = pool.removed_since(timestamps.after(clock.now(), -breaker.window_s))
    return breaker.refusal(pool.members(), removed, leaving, doing=doing)


def require_headroom(pool: Pool, leaving: Collection[str], breaker: Breaker, *, doing: str, hint: str) -> None:
    """Refuse to take the members among `leaving` out where the circuit breaker would trip.

    Raises:
        BreakerError: it would; `doing` names the operation, `hint` how to continue.
    """
    why = refusal(pool, leaving, breaker, doing=doing)
    if why:
        raise BreakerError(detail=why, hint=hint)
