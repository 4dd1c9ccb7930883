"""Finds the pool backend a site names."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from clusterctl.model.errors import PoolError

if TYPE_CHECKING:
    from clusterctl.adapters.pools.base import Pool
    from clusterctl.adapters.store.store import Store

GROUP = "clusterctl.pools"


def load_pool(name: str, store: Store) -> Pool:
    """The pool of that name.

    Raises:
        PoolError: no installed package offers it, its package does not import, or its scheduler cannot be reached.
    """
    offered = {e.name: e for e in entry_points(group=GROUP)}
    if name not in offered:
        known = ", ".join(sorted(offered)) or "none: is clusterctl installed?"
        raise PoolError(detail=f"no pool backend is called {name!r}", hint=f"set `pool:` in clusterctl.yml to one of: {known}")
    try:
        backend: type[Pool] = offered[name].load()
    except (ImportError, AttributeError) as e:
        raise PoolError(detail=f"pool backend {name!r} does not load: {e}", hint=f"reinstall the package of {offered[name].value}") from e
    return backend.create(store)
