"""Where nodes stand, from the store alone; no node is contacted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.adapters import clock, processes
from clusterctl.adapters.store import sqlite_reader
from clusterctl.core.rack_condition import racks_of
from clusterctl.core.recorded_target import match
from clusterctl.model.overview import Overview, Unfinished

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from clusterctl.model.rack_condition import RackStatus
    from clusterctl.model.records import Lease, NodeRecord, Unanswered


def overview(store_url: str, target: str) -> Overview:
    """The nodes of a target.

    Raises:
        UnknownNodeError: no recorded node matches.
        StoreError: the database cannot be used.
    """
    found = sqlite_reader.read_snapshot(store_url)
    if found:
        shown = match(found.nodes, target)
        return Overview(shown, _held(found.leases, frozenset()), _by_node(found.unanswered), racks=_racks(found.nodes, shown))
    from clusterctl.adapters.store import Store  # noqa: PLC0415 SQLAlchemy costs more than all the rest

    with Store.open_to_read(store_url) as store:
        nodes = store.nodes()
        shown = match(nodes, target)
        dead = tuple(Unfinished(r, store.nodes_in_progress(r.id), store.admitted_by(r.id)) for r in store.unfinished_runs())
        held = _held(store.leases(), {u.run.id for u in dead})
        return Overview(shown, held, _by_node(store.unanswered()), dead, _racks(nodes, shown))


def _racks(nodes: Sequence[NodeRecord], shown: Sequence[NodeRecord]) -> tuple[RackStatus, ...]:
    return racks_of(nodes, {n.rack for n in shown})


def _by_node(unanswered: Iterable[Unanswered]) -> dict[str, Unanswered]:
    return {x.node: x for x in unanswered}


def _held(leases: Iterable[Lease], dead_runs: Collection[str]) -> dict[str, Lease]:
    now = clock.now()
    return {x.node: x for x in leases if x.run_id not in dead_runs and processes.is_held(x, now)}
