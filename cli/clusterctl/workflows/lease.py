"""Leases: those that short commands hold, and who holds nodes now."""

from __future__ import annotations

import secrets
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from clusterctl.adapters import clock, processes
from clusterctl.adapters.store.leases import DEFAULT_TTL_S
from clusterctl.core import timestamps
from clusterctl.model.errors import LeaseHeldError, PoolTurnHeldError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from clusterctl.adapters.store.store import Store
    from clusterctl.model.node import Node

_REREAD_S = 2.0
# what one run holds while it decides what leaves the pool and takes it out; names of nodes have no spaces
_POOL_TURN = "the turn to take nodes out of the pool"
_TURN_TTL_S = 300.0
_TURN_WAIT_S = 120.0
_TURN_LOOK_S = 0.2


@contextmanager
def lease_for(store: Store, names: Iterable[str], *, verb: str, holder: str, ttl_s: float = DEFAULT_TTL_S) -> Iterator[None]:
    """Hold nodes while a short command changes them.

    Raises:
        LeaseHeldError: another run holds one of them.
    """
    ticket = f"{verb}-{secrets.token_hex(6)}"
    store.acquire(names, run_id=ticket, holder=holder, ttl_s=ttl_s)
    try:
        yield
    finally:
        store.release(ticket)


@contextmanager
def pool_turn(store: Store, *, holder: str, wait_s: float = _TURN_WAIT_S) -> Iterator[None]:
    """Be the only one that takes nodes out of the pool: else two runs at the same moment see the same headroom, and both use it.

    Raises:
        PoolTurnHeldError: another run did not end its turn within `wait_s`.
    """
    ticket, until = f"pool-turn-{secrets.token_hex(6)}", time.monotonic() + wait_s
    while True:
        try:
            store.acquire([_POOL_TURN], run_id=ticket, holder=holder, ttl_s=_TURN_TTL_S)
            break
        except LeaseHeldError as e:
            if time.monotonic() > until:
                raise PoolTurnHeldError(**e.values) from e
        time.sleep(_TURN_LOOK_S)
    try:
        yield
    finally:
        store.release(ticket)


def leases_on(nodes: Iterable[Node]) -> frozenset[str]:
    """What a run holds that works on nodes: their names, and their machines, which another inventory may call by other names."""
    return frozenset(word for n in nodes for word in (n.name, n.connection.machine) if word)


class Holders:
    """Which runs hold nodes now, reread every two seconds: a fleet is validated node by node."""

    def __init__(self, store: Store, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._store, self._monotonic = store, monotonic
        self._texts: dict[str, str] = {}
        self._read_at = float("-inf")

    def text(self, node: str) -> str:
        """`ada (run R) since 09:00`; empty where nobody holds the node."""
        if self._monotonic() - self._read_at >= _REREAD_S:
            self._texts, self._read_at = self._read(), self._monotonic()
        return self._texts.get(node, "")

    def _read(self) -> dict[str, str]:
        now = clock.now()
        return {
            x.node: f"{x.holder} (run {x.run_id}) since {timestamps.short(x.acquired_at)}"
            for x in self._store.leases()
            if processes.is_held(x, now)
        }
