"""A pool whose scheduler refuses to take some nodes out, as Slurm does with one that it reboots; it answers for the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.adapters.pools.local import LocalPool
from clusterctl.model.errors import PoolError

if TYPE_CHECKING:
    from collections.abc import Collection

    from clusterctl.adapters.store.store import Store


class RefusingPool(LocalPool):
    """`kept`: the nodes that it does not take out."""

    def __init__(self, store: Store, kept: Collection[str]) -> None:
        super().__init__(store)
        self._kept = frozenset(kept)

    def remove(self, node: str, reason: str) -> bool:
        """See `Pool.remove`."""
        if node in self._kept:
            raise PoolError(detail=f"Slurm reboots {node} and returns it to service then", hint="wait until it is back")
        return super().remove(node, reason)
