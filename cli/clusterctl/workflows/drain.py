"""Drain and release: pool and record change together, in an order in which being killed is safe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.adapters.pools.headroom import require_headroom
from clusterctl.core.lifecycle import is_legal, next_action
from clusterctl.model.errors import IllegalTransitionError
from clusterctl.model.move import Move
from clusterctl.model.state import State
from clusterctl.workflows.lease import lease_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.adapters.pools.base import Pool
    from clusterctl.adapters.store.store import Store
    from clusterctl.model.records import NodeRecord

RELEASABLE = frozenset({State.QUARANTINED, State.DRAINED, State.RMA, State.RETIRED})


def drain(
    store: Store,
    pool: Pool,
    nodes: Sequence[NodeRecord],
    *,
    operator: str,
    reason: str,
    force: bool = False,
    to: State = State.DRAINED,
    owner: str = "",
) -> tuple[Move, ...]:
    """Take nodes out: first of the pool, then in the record. Killed in between, no node is in the pool without being admitted.

    `to` is `drained`; or `quarantined`, `rma` or `retired`: then its evidence no longer counts. With an `owner`, the person who does it, they
    stay out until they are released or explicitly included.

    Raises:
        IllegalTransitionError: one of them cannot be drained; none was.
        PoolError: it would take too much of the pool out at once, and `force` is not given; none was.
        LeaseHeldError: a run holds one of them; none was drained.
    """
    _check(nodes, to)
    names = [n.name for n in nodes]
    if not force:
        require_headroom(pool, names, doing="draining", hint="drain fewer, wait, or add --force if this is intended")
    with lease_for(store, names, verb="drain", holder=operator):
        return tuple(_drain(store, pool, n, to, operator=operator, reason=reason, owner=owner) for n in nodes)


def _drain(store: Store, pool: Pool, node: NodeRecord, to: State, *, operator: str, reason: str, owner: str) -> Move:
    pool.remove(node.name, f"{to.value} by {operator}: {reason}")
    store.transition(node.name, to, run_id="", operator=operator, reason=reason, owner=owner)
    return Move(node.name, node.state, to, reason)


def release(store: Store, nodes: Sequence[NodeRecord], *, operator: str, reason: str) -> tuple[Move, ...]:
    """Return nodes to `registered`. Admits none.

    Raises:
        IllegalTransitionError: one of them is in a state that cannot be released; none was.
        LeaseHeldError: a run holds one of them; none was released.
    """
    for node in nodes:
        if node.state not in RELEASABLE:
            raise IllegalTransitionError(
                node=node.name, current=node.state.value, wanted="released", hint=next_action(node.name, node.state)
            )
    with lease_for(store, [n.name for n in nodes], verb="release", holder=operator):
        return tuple(_release(store, n, operator, reason) for n in nodes)


def _release(store: Store, node: NodeRecord, operator: str, reason: str) -> Move:
    store.transition(node.name, State.REGISTERED, run_id="", operator=operator, reason=reason)
    return Move(node.name, node.state, State.REGISTERED, reason)


def _check(nodes: Sequence[NodeRecord], wanted: State) -> None:
    for node in nodes:
        if not is_legal(node.state, wanted):
            hint = next_action(node.name, node.state)
            raise IllegalTransitionError(node=node.name, current=node.state.value, wanted=wanted.value, hint=hint)
