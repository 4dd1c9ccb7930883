"""Where nodes stand, straight from a SQLite file: to import SQLAlchemy costs more than to read 12,500 nodes."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from clusterctl.adapters import clock
from clusterctl.adapters.processes import is_dead
from clusterctl.adapters.store.head import HEAD
from clusterctl.model.holder import Holder
from clusterctl.model.records import Lease, NodeRecord
from clusterctl.model.state import State

if TYPE_CHECKING:
    from collections.abc import Sequence

_FILE = re.compile(r"sqlite:///([^?#%]+)")
_BUSY_TIMEOUT_S = 20
_STATES = {s.value: s for s in State}
_NODES = (
    "SELECT name, rack, slot, groups, state, reason, spec_digest, last_run, since, profile, declared_digest, epoch"
    " FROM nodes ORDER BY rack, slot, name"
)
_LEASES = "SELECT node, run_id, holder, host, pid, mark, acquired_at, expires_at FROM leases ORDER BY node"
_OPEN_RUNS = "SELECT id, host, pid, mark, started_at FROM runs WHERE status = 'running'"


def standing(url: str) -> tuple[tuple[NodeRecord, ...], tuple[Lease, ...]] | None:
    """All nodes and leases, as `Store.nodes()` and `Store.leases()` give them.

    None where it takes a Store to answer: another database, one that is to be made or converted, a run whose process is gone, and any trouble,
    which a Store explains.
    """
    found = _FILE.fullmatch(url)
    if found is None or not Path(found[1]).is_file():
        return None
    try:
        database = sqlite3.connect(f"file:{quote(found[1])}?mode=rw", timeout=_BUSY_TIMEOUT_S, isolation_level=None, uri=True)
        with closing(database):
            return _read(database)
    except sqlite3.Error:
        return None


def _read(database: sqlite3.Connection) -> tuple[tuple[NodeRecord, ...], tuple[Lease, ...]] | None:
    database.execute("BEGIN")
    if database.execute("SELECT version_num FROM alembic_version").fetchall() != [(HEAD,)]:
        return None
    leases = tuple(_lease(row) for row in database.execute(_LEASES))
    expiry = {x.run_id: x.expires_at for x in leases}
    now = clock.now()
    for run, host, pid, mark, started_at in database.execute(_OPEN_RUNS):
        if is_dead(Holder(host, pid, mark), started_at, expiry.get(run, ""), now):
            return None
    return tuple(_node(row) for row in database.execute(_NODES)), leases


def _lease(row: Sequence[Any]) -> Lease:
    node, run_id, holder, host, pid, mark, acquired_at, expires_at = row
    return Lease(node, run_id, holder, Holder(host, pid, mark), acquired_at, expires_at)


def _node(row: Sequence[Any]) -> NodeRecord:
    name, rack, slot, groups, state, *rest = row
    return NodeRecord(name, rack, slot, _words(groups), _STATES[state], *rest)


@lru_cache(maxsize=4096)
def _words(text: str) -> tuple[str, ...]:
    return tuple(json.loads(text))
