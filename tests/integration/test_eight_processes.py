"""Eight processes work on one rack at the same time, on both databases: the right ones win, and nothing they did is lost."""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import queue
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from clusterctl.adapters.pools.local import LocalPool
from clusterctl.adapters.store import Store
from clusterctl.adapters.store import tables as t
from clusterctl.adapters.store.engine import reading
from clusterctl.adapters.store.leases import LeaseRepository
from clusterctl.core.lifecycle import LEGAL
from clusterctl.model.records import RunStatus
from clusterctl.model.state import State
from support.postgres import binaries, server
from support.rack_race import NAMES, WORKERS, Claims, SharedRack, work

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOOLS = binaries()
NO_SERVER = pytest.mark.skipif(TOOLS is None, reason="PostgreSQL's initdb is not installed: apt-get install postgresql")
_END_S = 300


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=NO_SERVER)])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'clusterctl.db'}"
        return
    assert TOOLS is not None
    with server(TOOLS) as url:
        yield url


def race(address: str, folder: Path) -> list[Claims]:
    """What each process claims, by number."""
    context = multiprocessing.get_context("fork")  # eight interpreters that import everything take longer than the race
    start, results = context.Barrier(WORKERS), context.Queue()
    workers = [context.Process(target=work, args=(i, address, str(folder), start, results)) for i in range(WORKERS)]
    for worker in workers:
        worker.start()
    claims: list[Claims] = []
    until = time.monotonic() + _END_S
    try:
        while len(claims) < WORKERS:
            assert time.monotonic() < until, f"only {len(claims)} processes came to their end"
            assert not [w.exitcode for w in workers if w.exitcode], "a process failed: its traceback is above"
            with contextlib.suppress(queue.Empty):
                claims.append(results.get(timeout=1))
    finally:
        for worker in workers:
            worker.join(timeout=10 if len(claims) == WORKERS else 0)
            worker.kill()
    return sorted(claims, key=lambda c: c.number)


def test_the_right_ones_win_and_nothing_is_lost(address: str, tmp_path: Path) -> None:
    race_and_check(address, tmp_path)


def test_without_leases_the_race_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LeaseRepository, "acquire", lambda *_names, **_words: None)
    with pytest.raises(AssertionError):
        race_and_check(f"sqlite:///{tmp_path / 'clusterctl.db'}", tmp_path)


def race_and_check(address: str, tmp_path: Path) -> None:
    with Store.open(address) as store:
        store.register([SharedRack(tmp_path).node(name) for name in NAMES])
    claims = race(address, tmp_path)
    assert sum(c.won for c in claims) == 1
    assert len({c.whole_rack for c in claims}) == 1, "the others name the run that held the rack"
    assert {c.own_node for c in claims} == {State.ADMITTED}, "nodes of different runs do not hinder each other"
    with Store.open(address) as store:
        assert store.leases() == ()
        assert store.unfinished_runs() == ()
        _no_run_is_lost(store, claims)
        _no_transition_is_lost(store, claims)
        _pool_is_what_the_record_says(store)


def _no_run_is_lost(store: Store, claims: list[Claims]) -> None:
    claimed = {run: nodes for c in claims for run, nodes in c.runs.items()}
    recorded = store.runs(1000)
    assert {r.id for r in recorded} == set(claimed)
    assert {r.status for r in recorded} == {RunStatus.DONE}
    with reading(store._engine) as connection:
        looks = Counter(connection.execute(select(t.validations.c.run_id)).scalars())
    for run, nodes in claimed.items():
        assert {n.node: n.outcome for n in store.run_nodes(run)} == {name: state.value for name, state in nodes.items()}
        assert looks[run] >= len(nodes)


def _no_transition_is_lost(store: Store, claims: list[Claims]) -> None:
    """Each claim has its row; the rows of a node are one legal path, in which no run is interrupted by anybody else."""
    rows = {name: store.history(name) for name in NAMES}
    single = Counter((s.operator, s.node, s.to_state) for steps in rows.values() for s in steps if not s.run_id)
    assert single == Counter(m for c in claims for m in c.moves)
    ends = {(s.run_id, s.node): s.to_state for steps in rows.values() for s in steps if s.run_id}
    claimed = {(run, name): state for c in claims for run, nodes in c.runs.items() for name, state in nodes.items()}
    assert {key: claimed[key] for key in ends} == ends
    for name, steps in rows.items():
        assert all(s.to_state in LEGAL[s.from_state] for s in steps)
        assert all(a.to_state is b.from_state and a.epoch <= b.epoch for a, b in itertools.pairwise(steps))
        assert steps[-1].to_state is store.nodes([name])[0].state
        blocks = [run for run, _ in itertools.groupby(s.run_id for s in steps) if run]
        assert len(blocks) == len(set(blocks))


def _pool_is_what_the_record_says(store: Store) -> None:
    nodes = store.nodes(NAMES)
    admitted = {n.name for n in nodes if n.state is State.ADMITTED}
    assert LocalPool.create(store).members() == admitted
    with reading(store._engine) as connection:
        proven = {(row.node, row.epoch) for row in connection.execute(select(t.admissions.c.node, t.admissions.c.epoch))}
    assert all((n.name, n.epoch) in proven for n in nodes if n.state is State.ADMITTED)
