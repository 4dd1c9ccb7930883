"""Durable state: nodes, transitions, runs, evidence, leases, admissions. `Store.open(url)` is the entry point."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterctl.adapters.store.store import Store

__all__ = ["Store"]


def __getattr__(name: str) -> object:
    # Some modules use only parts of this package that need no SQLAlchemy, which is slow to import.
    if name != "Store":
        raise AttributeError(name)
    from clusterctl.adapters.store.store import Store  # noqa: PLC0415

    return Store
