"""Nodes whose pool membership is unknown: taken out before anything else is done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.adapters.pools.read_back import take_out
from clusterctl.model.errors import LeaseHeldError, PoolError
from clusterctl.model.state import State
from clusterctl.workflows.lease import lease_for

if TYPE_CHECKING:
    from clusterctl.adapters.pools.base import Pool
    from clusterctl.adapters.store.store import Store


def reconcile(store: Store, pool: Pool, operator: str) -> tuple[str, ...]:
    """Take every node in doubt out of the pool, unless it was admitted since. Returns those that are still in doubt.

    Nodes that another run holds are its own to settle.
    """
    left: list[str] = []
    for doubt in store.pool_doubts():
        try:
            with lease_for(store, [doubt.node], verb="reconcile", holder=operator):
                record = store.node(doubt.node)
                if record is None or record.state is not State.ADMITTED:
                    take_out(pool, doubt.node, f"not known to be out: {doubt.why}")
                store.end_doubt(doubt.node)
        except LeaseHeldError:
            continue
        except PoolError:
            left.append(doubt.node)
    return tuple(left)
