"""A look at what may leave the pool now."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from clusterctl.model.pool_headroom import PoolHeadroom

if TYPE_CHECKING:
    from clusterctl.adapters.pools.headroom import Headroom

_EVENTS = 10


def look(headroom: Headroom) -> PoolHeadroom:
    """The circuit breaker and the windows as they are now."""
    now, windows, breaker = datetime.now(UTC), headroom.limits.windows, headroom.limits.breaker
    members, removed, is_open = headroom.pool.members(), headroom.removed(), headroom.open_since() is not None
    within = windows.is_open(now)
    return PoolHeadroom(
        breaker.limit_percent,
        breaker.window_s,
        len(members),
        tuple(sorted(removed)),
        0 if is_open else min(len(members), breaker.allowance(members, removed)),
        is_open,
        within,
        "" if within else windows.next_text(now),
        headroom.store.breaker_events(_EVENTS),
    )
