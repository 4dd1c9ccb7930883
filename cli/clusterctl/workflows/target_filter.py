"""Filters out nodes that are away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.adapters.inventory.load import load_nodes
from clusterctl.adapters.store import Store
from clusterctl.core.lifecycle import ABSENT, next_action
from clusterctl.model.errors import NodesAbsentError
from clusterctl.model.running_text import first_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from clusterctl.adapters.config import Config
    from clusterctl.model.node import Node
    from clusterctl.model.state import State


def without_absent_nodes(
    store: Store, nodes: Sequence[Node], notify: Callable[[str], None], *, away: Collection[State] = ABSENT
) -> tuple[Node, ...]:
    """The nodes without those in RMA or retired (the states of `away`); these are reported in one line.

    Raises:
        NodesAbsentError: no node is left.
    """
    absent = {r.name: r.state for r in store.nodes([n.name for n in nodes]) if r.state in away}
    if not absent:
        return tuple(nodes)
    names = first_of([f"{name} ({state.value})" for name, state in absent.items()])
    if len(absent) == len(nodes):
        first, state = next(iter(absent.items()))
        raise NodesAbsentError(nodes=names, hint=next_action(first, state))
    notify(f"left out, because they are away: {names}")
    return tuple(n for n in nodes if n.name not in absent)


def load_target(
    config: Config,
    target: str,
    notify: Callable[[str], None],
    *,
    limit: str | None = None,
    vault_ids: tuple[str, ...] = (),
    away: Collection[State] = ABSENT,
) -> tuple[Node, ...]:
    """`load_nodes`, then `without_absent_nodes`.

    Raises:
        NodesAbsentError: no node is left.
        UnknownTargetError, ConfigError, SpecInvalidError, StoreError: as `load_nodes` and the store.
    """
    nodes = load_nodes(config.inventory, target, limit=limit, vault_ids=vault_ids)
    with Store.open(config.store_url) as store:
        return without_absent_nodes(store, nodes, notify, away=away)
