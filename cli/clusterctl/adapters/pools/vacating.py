"""Pools whose nodes may still run jobs after they were taken out: waits for these, up to a limit."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from clusterctl.adapters.pools.base import Pool


@runtime_checkable
class Vacating(Protocol):
    """What a pool offers in addition if jobs outlast `Pool.remove`. A pool without it has nothing to wait for."""

    def vacate(self, nodes: Collection[str], waiting: Callable[[Mapping[str, str]], None], /) -> Mapping[str, str]:
        """Wait until nothing runs on nodes that were taken out. Returns node -> what still runs when the limit of the pool is reached.

        `waiting` is called with what still runs, whenever that changes.

        Raises:
            PoolError: the scheduler does not say what runs: then nothing is known to be empty.
        """
        ...


def vacate(pool: Pool, nodes: Collection[str], waiting: Callable[[Mapping[str, str]], None]) -> Mapping[str, str]:
    """`Vacating.vacate`, where the pool has it."""
    return pool.vacate(nodes, waiting) if isinstance(pool, Vacating) else {}


def wait_until_empty(
    busy: Callable[[], Mapping[str, str]], waiting: Callable[[Mapping[str, str]], None], *, limit_s: float, pause_s: float
) -> Mapping[str, str]:
    """Poll what still runs, until nothing does or the limit is reached."""
    end, reported = time.monotonic() + limit_s, None
    while found := busy():
        left_s = end - time.monotonic()
        if left_s <= 0:
            return found
        if found != reported:
            waiting(found)
            reported = found
        time.sleep(min(pause_s, left_s))
    return {}
