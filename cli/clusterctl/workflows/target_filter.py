"""Who of a target is there to be asked: a node at the vendor's, or gone for good, is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.adapters.inventory.load import load_nodes
from clusterctl.adapters.store import Store
from clusterctl.core.lifecycle import ABSENT, next_action
from clusterctl.model.errors import NodesAbsentError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clusterctl.adapters.config import Config
    from clusterctl.model.node import Node


def present(store: Store, nodes: Sequence[Node], tell: Callable[[str], None]) -> tuple[Node, ...]:
    """The nodes without those that are away, who are told of in one line.

    Raises:
        NodesAwayError: nobody is left.
    """
    away = {r.name: r.state for r in store.nodes([n.name for n in nodes]) if r.state in ABSENT}
    if not away:
        return tuple(nodes)
    names = ", ".join(f"{name} ({state.value})" for name, state in away.items())
    if len(away) == len(nodes):
        first, state = next(iter(away.items()))
        raise NodesAbsentError(nodes=names, hint=next_action(first, state))
    tell(f"left out, for they are away: {names}")
    return tuple(n for n in nodes if n.name not in away)


def load_present(
    config: Config, target: str, tell: Callable[[str], None], *, limit: str | None = None, vault_ids: tuple[str, ...] = ()
) -> tuple[Node, ...]:
    """`load_nodes`, then `present`.

    Raises:
        NodesAwayError: nobody is left.
        UnknownTargetError, ConfigError, SpecInvalidError, StoreError: as `load_nodes` and the store.
    """
    nodes = load_nodes(config.inventory, target, limit=limit, vault_ids=vault_ids)
    with Store.open(config.store_url) as store:
        return present(store, nodes, tell)
