"""Nodes that no longer exist: out of the pool, and nothing of them proven any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.adapters.pools.read_back import take_out
from clusterctl.core.lifecycle import ABSENT, is_legal
from clusterctl.model.state import State
from clusterctl.workflows.lease import lease_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.adapters.pools.base import Pool
    from clusterctl.adapters.store.store import Store


def withdraw(store: Store, pool: Pool, names: Sequence[str], *, operator: str, reason: str) -> tuple[str, ...]:
    """Take recorded nodes out of the pool and back to `registered`; those in RMA or retired stay so. Returns those that were changed.

    Raises:
        LeaseHeldError: a run holds one of them; none was changed.
    """
    with lease_for(store, names, verb="withdraw", holder=operator):
        known = store.nodes(names)
        for node in known:
            take_out(pool, node.name, reason)
            store.end_doubt(node.name)
        changed = [n for n in known if n.state not in ABSENT and n.state is not State.REGISTERED]
        for node in changed:
            path = (State.REGISTERED,) if is_legal(node.state, State.REGISTERED) else (State.DRAINED, State.REGISTERED)
            for state in path:
                store.transition(node.name, state, run_id="", operator=operator, reason=reason)
    return tuple(n.name for n in changed)
