"""Leases: those that short commands hold, and who holds nodes now."""

from __future__ import annotations

import secrets
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from clusterctl.adapters import clock, processes
from clusterctl.adapters.store.leases import DEFAULT_TTL_S
from clusterctl.core import timestamps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from clusterctl.adapters.store.store import Store
    from clusterctl.model.node import Node

_REREAD_S = 2.0


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
