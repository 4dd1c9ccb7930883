"""Where nodes stand, from the store alone; no node is contacted."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clusterctl.adapters import clock, processes
from clusterctl.adapters.store import sqlite_reader
from clusterctl.core.rack_condition import racks_of
from clusterctl.core.recorded_target import match
from clusterctl.model.overview import Overview, Unfinished

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from clusterctl.adapters.config import Config
    from clusterctl.model.notice import MaintenanceNotice
    from clusterctl.model.rack_condition import RackStatus
    from clusterctl.model.recorded_hardware import RecordedHardware
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
        held, planned = _held(found.leases, frozenset()), _of(shown, found.notices)
        return Overview(shown, held, _by_node(found.unanswered), racks=_racks(found.nodes, shown), notices=planned)
    from clusterctl.adapters.store import Store  # noqa: PLC0415 SQLAlchemy costs more than all the rest

    with Store.open_to_read(store_url) as store:
        nodes = store.nodes()
        shown = match(nodes, target)
        dead = tuple(Unfinished(r, store.nodes_in_progress(r.id), store.admitted_by(r.id)) for r in store.unfinished_runs())
        held = _held(store.leases(), {u.run.id for u in dead})
        planned = _of(shown, store.open_notices())
        return Overview(shown, held, _by_node(store.unanswered()), dead, _racks(nodes, shown), notices=planned)


def hardware_of_all(store_url: str) -> dict[str, RecordedHardware]:
    """The hardware of all nodes, by their recorded parts; nodes without one are left out.

    Raises:
        StoreError: the database cannot be used.
    """
    found = sqlite_reader.read_hardware(store_url)
    if found is not None:
        return found
    from clusterctl.adapters.store import Store  # noqa: PLC0415 as in `overview`

    with Store.open_to_read(store_url) as store:
        return store.hardware()


def with_pool(config: Config, found: Overview) -> Overview:
    """An overview with what runs on each node and where jobs may start, as the pool reports; unchanged where the pool does not report it.

    Raises:
        PoolError: the scheduler does not answer.
    """
    from clusterctl.adapters.pools.loader import load_pool  # noqa: PLC0415 as in `overview`
    from clusterctl.adapters.pools.vacating import Vacating  # noqa: PLC0415
    from clusterctl.adapters.store import Store  # noqa: PLC0415

    with Store.open_to_read(config.store_url) as store:
        pool = load_pool(config.pool, store)
        if not isinstance(pool, Vacating):
            return found
        return replace(found, busy=pool.busy([n.name for n in found.nodes]), members=pool.members())


def _racks(nodes: Sequence[NodeRecord], shown: Sequence[NodeRecord]) -> tuple[RackStatus, ...]:
    return racks_of(nodes, {n.rack for n in shown})


def _of(shown: Iterable[NodeRecord], notices: Iterable[MaintenanceNotice]) -> tuple[MaintenanceNotice, ...]:
    """The notices that name one of these nodes."""
    names = {n.name for n in shown}
    return tuple(n for n in notices if not names.isdisjoint(n.nodes))


def _by_node(unanswered: Iterable[Unanswered]) -> dict[str, Unanswered]:
    return {x.node: x for x in unanswered}


def _held(leases: Iterable[Lease], dead_runs: Collection[str]) -> dict[str, Lease]:
    now = clock.now()
    return {x.node: x for x in leases if x.run_id not in dead_runs and processes.is_held(x, now)}
