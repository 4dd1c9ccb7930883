"""Drain and release: pool and record change together, in an order in which being killed is safe. Each node is drained, released or reported by itself."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clusterctl.adapters.pools.headroom import Headroom
from clusterctl.adapters.pools.marking import Marker, mark_text
from clusterctl.adapters.pools.read_back import is_member, take_out
from clusterctl.adapters.pools.vacating import busy, vacate
from clusterctl.core.lifecycle import OWNABLE, is_legal, next_action
from clusterctl.core.pool_limits import PoolLimits
from clusterctl.model.errors import ActionRefusedError, ClusterctlError, IllegalTransitionError, PoolError, PoolUnreachableError
from clusterctl.model.move import Move, MoveOutcome, StillRunning
from clusterctl.model.repair import NO_REPAIR
from clusterctl.model.state import State
from clusterctl.model.verdict import Reason, ReasonKind
from clusterctl.workflows.lease import lease_for, pool_turn
from clusterctl.workflows.reconcile import reconcile

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from clusterctl.adapters.pools.base import Pool
    from clusterctl.adapters.store.store import Store
    from clusterctl.model.records import NodeRecord

RELEASABLE = OWNABLE


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
    cause: ReasonKind | None = None,
    limits: PoolLimits = PoolLimits(),  # noqa: B008 frozen
    found: Mapping[str, Reason] | None = None,
    code: str = "",
) -> tuple[Move, ...]:
    """Take nodes out: first of the pool, then in the record. Killed in between, no node is in the pool without being admitted.

    `to` is `drained`; or `maintenance`, `quarantined`, `rma` or `retired`: then its evidence no longer counts. With an `owner`, the person who does it, they
    stay out until they are released or explicitly included. `cause`: what a policy drains them for;
    `found`: node -> what was found on it, which is its cause then, and for the scheduler to show; `code`: what the owner states. A person's drain is not a fault, so that automatic repair
    does not act on planned work: the scheduler shows one only where the owner quarantines and states what for. Nodes that are there already, or cannot
    go there, stay as they are, and so do those that their scheduler does not take out; one that is there already, and that somebody returned to the
    pool, is taken out again.

    Raises:
        PoolError: `limits` forbid it, and `force` is not given, or the pool does not report whether one that is there already is out. None was drained.
        PoolUnreachableError: the scheduler does not answer, and no node is out yet; later than that, each that it did not take out is refused.
        LeaseHeldError: a run holds one of them, or takes nodes out of the pool for minutes; none was drained.
    """

    def is_there(node: NodeRecord) -> bool:
        return node.state is to and bool(node.owner or not owner)

    def text_of(node: NodeRecord) -> str:
        return mark_text(node.name, stated) if stated else text

    def left(node: NodeRecord) -> Move | None:
        if node.name in pool_side.refusals:
            return _refused(node, pool_side.refusals[node.name])
        if is_there(node):
            return _already(node, again=node.name in returned)
        return None if is_legal(node.state, to) else _illegal(node, to.value)

    def move(node: NodeRecord) -> Move:
        if not pool_side.take([node]):
            return _refused(node, pool_side.refusals[node.name])
        why = found.get(node.name) if found else stated
        shown = why.code if why else cause.value if cause else ""
        kind = why.kind if why and found else cause
        repair = why.first_repair if why else NO_REPAIR
        store.transition(
            node.name, to, run_id="", operator=operator, reason=reason, owner=owner, cause=kind, reason_code=shown, repair=repair
        )
        is_fault = why is not stated or (code and to is State.QUARANTINED)
        unmarked = marker.mark(node.name, why) if why and is_fault else ""
        return Move(node.name, node.state, to, f"{reason}; {unmarked}" if unmarked else reason, reason_code=shown)

    text = f"{to.value} by {operator}: {reason}"
    stated = Reason(ReasonKind.PERSON, text, item=code) if owner else None
    marker, returned = Marker(pool), set[str]()
    pool_side = _PoolSide(store, pool, text_of)
    in_doubt = reconcile(store, pool, operator)
    turn = nullcontext() if force else pool_turn(store, holder=operator)
    with lease_for(store, [n.name for n in nodes], verb="drain", holder=operator), turn:
        known = store.nodes([n.name for n in nodes])
        # that the record has these as drained does not prove that of the pool
        pool_side.take([n for n in known if n.name in in_doubt])
        returned.update(n.name for n in known if is_there(n) and is_member(pool, n.name))
        leaving = [n.name for n in known if n.name in returned or left(n) is None]
        if leaving and not force:
            hint = "drain fewer, wait, or add --force if this is intended"
            Headroom(store, pool, limits).require(leaving, doing="draining", hint=hint)
        pool_side.take([n for n in known if n.name in returned])
        return _each(known, left, move)


@dataclass(slots=True)
class _PoolSide:
    """Takes nodes out of the pool. `refusals`: node -> why its scheduler did not take it out; `lost`: why it no longer answers."""

    store: Store
    pool: Pool
    text_of: Callable[[NodeRecord], str]
    refusals: dict[str, PoolError] = field(default_factory=dict)
    lost: PoolUnreachableError | None = None
    some_are_out: bool = False

    def take(self, nodes: Sequence[NodeRecord]) -> bool:
        """Returns whether all of them are out.

        Raises:
            PoolUnreachableError: the scheduler does not answer, and none is out yet.
        """
        for node in nodes:
            try:
                self._take_one(node)
            except PoolError as e:
                if e is not self.lost and isinstance(e, PoolUnreachableError):
                    if not self.some_are_out:
                        raise
                    self.lost = e
                self.refusals[node.name] = e
        return not self.refusals.keys() & {n.name for n in nodes}

    def _take_one(self, node: NodeRecord) -> None:
        if self.lost:  # each attempt would wait for its time limit
            raise self.lost
        take_out(self.pool, node.name, self.text_of(node))
        self.some_are_out = True
        self.store.end_doubt(node.name)


def still_running(pool: Pool, moves: Sequence[Move], waiting: Callable[[Mapping[str, str]], None] | None = None) -> StillRunning:
    """What still runs on the nodes that are out now; with `waiting`, after waiting for it up to the limit of the pool, as `provision` does."""
    names = [m.node for m in moves if m.outcome is not MoveOutcome.REFUSED]
    try:
        return StillRunning(vacate(pool, names, waiting) if waiting else busy(pool, names))
    except PoolError as e:
        return StillRunning({}, str(e), e.hint)


def release(store: Store, nodes: Sequence[NodeRecord], *, operator: str, reason: str) -> tuple[Move, ...]:
    """Return nodes to `registered`. Admits none. Nodes that are `registered`, or cannot be released, stay as they are.

    Raises:
        LeaseHeldError: a run holds one of them; none was released.
    """

    def left(node: NodeRecord) -> Move | None:
        if node.state is State.REGISTERED:
            return _already(node)
        return None if node.state in RELEASABLE else _illegal(node, "released")

    def move(node: NodeRecord) -> Move:
        store.transition(node.name, State.REGISTERED, run_id="", operator=operator, reason=reason)
        return Move(node.name, node.state, State.REGISTERED, reason)

    with lease_for(store, [n.name for n in nodes], verb="release", holder=operator):
        return _each(store.nodes([n.name for n in nodes]), left, move)


def _each(nodes: Sequence[NodeRecord], left: Callable[[NodeRecord], Move | None], move: Callable[[NodeRecord], Move]) -> tuple[Move, ...]:
    return tuple(left(n) or move(n) for n in nodes)


def _already(node: NodeRecord, *, again: bool = False) -> Move:
    detail = f"by {node.owner}: {node.reason}" if node.owner else node.reason
    detail += "; it was in the pool again, and is out now" if again else ""
    return Move(node.name, node.state, node.state, detail, MoveOutcome.ALREADY, reason_code=node.reason_code)


def _illegal(node: NodeRecord, wanted: str) -> Move:
    kind = IllegalTransitionError if wanted in set(State) else ActionRefusedError
    return _refused(node, kind(node=node.name, current=node.state.value, wanted=wanted, hint=next_action(node.name, node.state)))


def _refused(node: NodeRecord, error: ClusterctlError) -> Move:
    return Move(node.name, node.state, node.state, str(error), MoveOutcome.REFUSED, error.hint, node.reason_code)
