"""What is left of a rack: the record, the pool, the nodes; and what of it is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import NullPool, create_engine, text

from clusterctl.adapters.pools.local import LocalPool
from clusterctl.adapters.store import Store
from clusterctl.model.records import RunStatus
from clusterctl.model.state import State

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chaos.rack import DiskRack

_KEYS = {"transitions": "id", "validations": "id", "gate_results": "id", "admissions": "id", "runs": "id", "nodes": "name"}

_NEWEST = """SELECT n.name, a.run_id, a.document FROM nodes n
JOIN admissions a ON a.id = (SELECT max(id) FROM admissions WHERE node = n.name) WHERE a.epoch = n.epoch"""


@dataclass(frozen=True)
class Snapshot:
    """A rack at one time.

    Attributes:
        rows: table -> keys of its rows.
        proven: nodes whose newest admission record is of the present epoch, and also a file of the run.
        sound: whether SQLite finds its file intact; a PostgreSQL server outlives its clients.
    """

    states: Mapping[str, State]
    owners: Mapping[str, str]
    members: frozenset[str]
    bad: Mapping[str, frozenset[str]]
    leases: int
    open_runs: int
    rows: Mapping[str, frozenset[str]]
    proven: frozenset[str]
    sound: bool

    @property
    def end(self) -> tuple[object, ...]:
        """What must be as after an undisturbed run."""
        return dict(self.states), dict(self.owners), self.members, dict(self.bad)


def take(rack: DiskRack) -> Snapshot:
    """The rack as it is now; `rack` was made after the process that worked on it ended."""
    rows, proven, sound = _read(rack)
    with Store.open(rack.url) as store:
        nodes = store.nodes()
        return Snapshot(
            states={n.name: n.state for n in nodes},
            owners={n.name: n.owner for n in nodes},
            members=rack.scheduler.members(rack.state_dir, rack.url) if rack.scheduler else LocalPool.create(store).members(),
            bad={n: frozenset(roles) for n, roles in rack.bad.items()},
            leases=len(store.leases()),
            open_runs=sum(r.status is RunStatus.RUNNING for r in store.runs(1000)),
            rows=rows,
            proven=proven,
            sound=sound,
        )


def wrong_admissions(now: Snapshot, before: Snapshot, gate_fails: set[str]) -> list[str]:
    """Members that should be none: not admitted, without a record of the present epoch, changed and not finished, or bad."""
    return [
        n
        for n in sorted(now.members)
        if now.states.get(n) is not State.ADMITTED
        or n not in now.proven
        or n in gate_fails
        or now.owners.get(n)
        or (now.bad.get(n) and now.bad[n] != before.bad.get(n))
    ]


def lost_rows(now: Snapshot, later: Snapshot) -> int:
    """Rows that were there when the process died, and are gone."""
    return sum(len(keys - later.rows[table]) for table, keys in now.rows.items()) + (not later.sound)


def _read(rack: DiskRack) -> tuple[dict[str, frozenset[str]], frozenset[str], bool]:
    with create_engine(rack.url, poolclass=NullPool).connect() as database:
        sound = database.dialect.name != "sqlite" or database.execute(text("PRAGMA integrity_check")).scalar() == "ok"
        queries = {table: text(f"SELECT {key} FROM {table}") for table, key in _KEYS.items()}  # noqa: S608 names of ours
        rows = {table: frozenset(str(key) for key in database.execute(query).scalars()) for table, query in queries.items()}
        return rows, frozenset(n for n, run, document in database.execute(text(_NEWEST)) if _is_written(rack, n, run, document)), sound


def _is_written(rack: DiskRack, node: str, run: str, document: str) -> bool:
    file = rack.state_dir / "runs" / run / "admission" / f"{node}.json"
    return file.is_file() and file.read_text() == document
