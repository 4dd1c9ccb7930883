"""Nodes of the lab that were removed stay neither in the pool nor admitted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.adapters.pools.loader import load_pool
from clusterctl.adapters.store import Store
from clusterctl.model.errors import LeaseHeldError
from clusterctl.workflows.withdraw import withdraw

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.adapters.config import Config


def without_ghosts(config: Config, names: Sequence[str]) -> str:
    """Withdraw removed nodes; returns what to report, or an empty string."""
    if not names:
        return ""
    with Store.open(config.store_url) as store:
        try:
            gone = withdraw(store, load_pool(config.pool, store), names, operator=config.operator, reason="its lab node was removed")
        except LeaseHeldError as e:
            return f"not taken out of the pool: {e}"
    return f"out of the record's pool: {', '.join(gone)}" if gone else ""
