"""Pools whose nodes may still run jobs after they were taken out: names these, and waits for them up to a limit."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from clusterctl.adapters.pools.answering import LIMIT_S
from clusterctl.model.errors import PoolUnreachableError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from clusterctl.adapters.pools.base import Pool


@runtime_checkable
class Vacating(Protocol):
    """What a pool offers in addition if jobs outlast `Pool.remove`. A pool without it has nothing to wait for."""

    def busy(self, nodes: Collection[str], /) -> Mapping[str, str]:
        """Node -> what runs on it now, `job 17 of eve`; ends nothing. Nodes on which nothing runs are left out.

        Raises:
            PoolError: the scheduler does not report what runs: then no node is known to be idle.
        """
        ...

    def vacate(self, nodes: Collection[str], waiting: Callable[[Mapping[str, str]], None], /) -> Mapping[str, str]:
        """Wait until nothing runs on nodes that were taken out. Returns node -> what still runs when the limit of the pool is reached.

        `waiting` is called with what still runs, whenever that changes.

        Raises:
            PoolError: as `busy`.
        """
        ...


def busy(pool: Pool, nodes: Collection[str]) -> Mapping[str, str]:
    """`Vacating.busy`, where the pool has it."""
    return pool.busy(nodes) if isinstance(pool, Vacating) else {}


def busy_text(found: Mapping[str, str]) -> str:
    """`n1: job 17 of eve; n2: job 18 of bob`."""
    return "; ".join(f"{node}: {jobs}" for node, jobs in sorted(found.items()))


def vacate(pool: Pool, nodes: Collection[str], waiting: Callable[[Mapping[str, str]], None]) -> Mapping[str, str]:
    """`Vacating.vacate`, where the pool has it."""
    return pool.vacate(nodes, waiting) if isinstance(pool, Vacating) else {}


def wait_until_empty(
    left: Callable[[], Mapping[str, str]],
    waiting: Callable[[Mapping[str, str]], None],
    *,
    limit_s: float,
    pause_s: float,
    silence_s: float = LIMIT_S,
) -> Mapping[str, str]:
    """Poll what still runs, until nothing does or the limit is reached. While the scheduler does not answer, the nodes count as in use.

    Raises:
        PoolUnreachableError: it does not answer at all, or no longer for `silence_s`.
    """
    end, reported = time.monotonic() + limit_s, None
    found, heard = left(), time.monotonic()
    while found:
        left_s = end - time.monotonic()
        if left_s <= 0:
            return found
        if found != reported:
            waiting(found)
            reported = found
        time.sleep(min(pause_s, left_s))
        try:
            found, heard = left(), time.monotonic()
        except PoolUnreachableError as e:
            if time.monotonic() - heard > silence_s:
                raise
            found = dict.fromkeys(found, f"not known now: {e}")
    return {}
