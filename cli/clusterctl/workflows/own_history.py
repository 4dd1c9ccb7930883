"""What the nodes of a burn-in usually read, from the stored results of earlier runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.core.gates.judging.own_history import usual_values

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterctl.adapters.store import Store
    from clusterctl.model.own_history import HistoryKey


def usual_of(store: Store, nodes: Iterable[str]) -> dict[HistoryKey, float]:
    """The average of the last values of each device of these nodes, in the unit of its figure.

    Raises:
        StoreError: the database cannot be read.
    """
    names = tuple(nodes)
    return usual_values(store.past_results(names), store.parts(names))
