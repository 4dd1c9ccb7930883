"""Durable state: nodes, transitions, runs, evidence, leases, admissions. `Store.open(url)` is the door."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterctl.adapters.store.store import Store

__all__ = ["Store"]


def __getattr__(name: str) -> object:
    # The records of this package are read by light modules that must not pay for SQLAlchemy.
    if name != "Store":
        raise AttributeError(name)
    from clusterctl.adapters.store.store import Store  # noqa: PLC0415

    return Store
