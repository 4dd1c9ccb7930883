"""What a person does to a node, as `drain` does it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.core.pool_limits import PoolLimits
from clusterctl.workflows.drain import drain
from support.stores import a_node, fresh

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.adapters.pools.base import Pool
    from clusterctl.model.state import State


def drained_by_a_person(folder: Path, pool: Pool, to: State, code: str) -> None:
    """Ada takes r12-n01 of a store in `folder` out of the pool."""
    with fresh(folder) as store:
        store.register([a_node()])
        drain(
            store, pool, store.nodes(), operator="ada", owner="ada", reason="new DIMMs", to=to, code=code, force=True, limits=PoolLimits()
        )
