"""Leases for short commands that are no run of their own."""

from __future__ import annotations

import secrets
from contextlib import contextmanager
from typing import TYPE_CHECKING

from clusterctl.adapters.store.leases import DEFAULT_TTL_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from clusterctl.adapters.store.store import Store


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
