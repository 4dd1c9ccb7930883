"""Reads the state of all nodes directly from a SQLite file, because importing SQLAlchemy takes longer than reading 12,500 nodes."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from clusterctl.adapters import clock
from clusterctl.adapters.processes import is_dead
from clusterctl.adapters.store.hardware_query import OF_ALL_NODES, hardware_by_node
from clusterctl.adapters.store.schema_head import HEAD
from clusterctl.model.holder import Holder
from clusterctl.model.notice import MaintenanceNotice, NoticeState, Period
from clusterctl.model.records import Lease, NodeRecord, Unanswered
from clusterctl.model.state import State

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from clusterctl.model.recorded_hardware import RecordedHardware

_FILE = re.compile(r"sqlite:///([^?#%]+)")
_BUSY_TIMEOUT_S = 20
_STATES = {s.value: s for s in State}
_NODES = (
    "SELECT name, rack, slot, groups, state, reason, spec_digest, last_run, since, profile, declared_digest, epoch, owner,"
    " leaf, spine, nvlink_domain, reason_code, component, component_name, next_action FROM nodes"
)
_RACK_SLOT_NAME = itemgetter(1, 2, 0)
_LEASES = "SELECT node, run_id, holder, host, pid, mark, acquired_at, expires_at FROM leases ORDER BY node"
_UNANSWERED = (
    "SELECT v.node, v.run_id, v.status, v.detail, v.at FROM nodes n"
    " JOIN validations v ON v.id = (SELECT max(id) FROM validations WHERE node = n.name) WHERE v.status <> 'ok' ORDER BY v.node"
)
_NOTICES = (
    "SELECT notice, id, kind, at, target, nodes, begins_at, ends_at, reason, operator FROM notices"
    " WHERE id IN (SELECT max(id) FROM notices GROUP BY notice) AND kind <> 'cancelled' AND ends_at > ? ORDER BY begins_at, notice"
)
_OPEN_RUNS = "SELECT id, host, pid, mark, started_at FROM runs WHERE status = 'running'"


@dataclass(frozen=True, slots=True)
class StoreSnapshot:
    """Records, leases and failed validations of all nodes, and the notices that are not over."""

    nodes: tuple[NodeRecord, ...]
    leases: tuple[Lease, ...]
    unanswered: tuple[Unanswered, ...]
    notices: tuple[MaintenanceNotice, ...] = ()


def has_file(file: str | Path) -> bool:
    """Whether a database file exists that this user can get to; `Path.is_file` raises where a folder on the way is closed."""
    return os.path.isfile(file)  # noqa: PTH113 see above


def read_snapshot(url: str) -> StoreSnapshot | None:
    """The results of `Store.nodes()`, `Store.leases()`, `Store.unanswered()` and `Store.open_notices()`.

    None if a Store is needed: for another database, one that must be created or migrated, a run whose process has ended, and for any
    error, which a Store reports.
    """
    found = _FILE.fullmatch(url)
    if found is None or not has_file(found[1]):
        return None
    try:
        with closing(_connect(found[1])) as database:
            return _read(database)
    except sqlite3.Error:
        return None


def read_hardware(url: str) -> dict[str, RecordedHardware] | None:
    """The result of `Store.hardware()`. None if a Store is needed, as for `read_snapshot`."""
    found = _FILE.fullmatch(url)
    if found is None or not has_file(found[1]):
        return None
    try:
        with closing(_connect(found[1])) as database:
            return hardware_by_node(database.execute(OF_ALL_NODES))
    except sqlite3.Error:
        return None


def recorded_names(url: str) -> tuple[frozenset[str], frozenset[str]]:
    """The recorded (racks and groups, nodes), for shell completion; both empty if the database is not a readable SQLite file."""
    found = _FILE.fullmatch(url)
    if found is None or not has_file(found[1]):
        return frozenset(), frozenset()
    groups: set[str] = set()
    nodes: set[str] = set()
    try:
        with closing(_connect(found[1], timeout_s=1)) as database:
            for name, rack, words in database.execute("SELECT name, rack, groups FROM nodes"):
                nodes.add(name)
                groups.update((rack, *_string_list(words)))
    except sqlite3.Error:
        return frozenset(), frozenset()
    return frozenset(groups - {"", "all", "ungrouped"}), frozenset(nodes)


def _connect(file: str, timeout_s: float = _BUSY_TIMEOUT_S) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(file)}?mode=rw", timeout=timeout_s, isolation_level=None, uri=True)


def _read(database: sqlite3.Connection) -> StoreSnapshot | None:
    database.execute("BEGIN")
    if database.execute("SELECT version_num FROM alembic_version").fetchall() != [(HEAD,)]:
        return None
    leases = tuple(_lease(row) for row in database.execute(_LEASES))
    expiry = {x.run_id: x.expires_at for x in leases}
    now = clock.now()
    for run, host, pid, mark, started_at in database.execute(_OPEN_RUNS):
        if is_dead(Holder(host, pid, mark), started_at, expiry.get(run, ""), now):
            return None
    # sorted here: SQLite would copy every column of every row into its sorter
    nodes = _nodes(sorted(database.execute(_NODES), key=_RACK_SLOT_NAME))
    unanswered = tuple(Unanswered(*row) for row in database.execute(_UNANSWERED))
    return StoreSnapshot(nodes, leases, unanswered, tuple(_open_notice(row) for row in database.execute(_NOTICES, [now])))


def _lease(row: Sequence[Any]) -> Lease:
    node, run_id, holder, host, pid, mark, acquired_at, expires_at = row
    return Lease(node, run_id, holder, Holder(host, pid, mark), acquired_at, expires_at)


def _open_notice(row: Sequence[Any]) -> MaintenanceNotice:
    notice, change, kind, at, target, nodes, begins_at, ends_at, reason, operator = row
    period = Period(begins_at, ends_at)
    return MaintenanceNotice(notice, change, NoticeState(kind), at, target, tuple(json.loads(nodes)), period, reason, operator)


def _nodes(rows: Iterable[Sequence[Any]]) -> tuple[NodeRecord, ...]:
    return tuple(
        [NodeRecord(name, rack, slot, _string_list(groups), _STATES[state], *rest) for name, rack, slot, groups, state, *rest in rows]
    )


@lru_cache(maxsize=4096)
def _string_list(text: str) -> tuple[str, ...]:
    return tuple(json.loads(text))
