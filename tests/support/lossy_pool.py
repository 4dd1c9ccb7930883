"""A pool whose scheduler loses answers, before or after it acted, or refuses, having acted or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.adapters.pools.local import LocalPool
from clusterctl.model.errors import PoolError, PoolUnreachableError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clusterctl.adapters.store.store import Store

FAULTS = ("none", "lost before", "lost after", "refused before", "refused after")


class LossyPool(LocalPool):
    """`faults` are used up, one for each call; without any, all is well."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.faults: list[str] = []

    def admit(self, node: str, reason: str) -> bool:
        """See `Pool.admit`."""
        return self._call(lambda: LocalPool.admit(self, node, reason))

    def remove(self, node: str, reason: str) -> bool:
        """See `Pool.remove`."""
        return self._call(lambda: LocalPool.remove(self, node, reason))

    def takes_jobs(self, node: str) -> bool:
        """See `Readable.takes_jobs`."""
        return self._call(lambda: node in self.members())

    def now(self, faults: Sequence[str]) -> None:
        """What happens to the next calls."""
        self.faults = list(faults)

    def _call(self, act: Callable[[], bool]) -> bool:
        fault = self.faults.pop(0) if self.faults else "none"
        done = act() if fault in ("none", "lost after", "refused after") else False
        if fault.startswith("lost"):
            raise PoolUnreachableError(detail="the scheduler does not answer", hint="wait")
        if fault.startswith("refused"):
            raise PoolError(detail="the scheduler refuses", hint="rights")
        return done
