"""Racks in the queue on PostgreSQL, provisioned by `clusterctl worker` over SSH: nodes on loopback replay the answers of a healthy one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from chaos.databases import PostgresDatabases
from clusterctl.adapters.store import Store
from clusterctl.adapters.store import tables as t
from clusterctl.adapters.store.engine import reading
from clusterctl.model.records import RunStatus
from clusterctl.model.shard import Shard, ShardState
from clusterctl.model.state import State
from support.postgres import binaries, server
from support.replayed_racks import ReplayedRacks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TOOLS = binaries()
pytestmark = pytest.mark.skipif(TOOLS is None, reason="PostgreSQL's initdb is not installed: apt-get install postgresql")
_LOST_AFTER_S = 3
_END_S = 120


@pytest.fixture(scope="module")
def databases() -> Iterator[PostgresDatabases]:
    assert TOOLS is not None
    with server(TOOLS) as address:
        yield PostgresDatabases(address)


@pytest.fixture
def url(databases: PostgresDatabases, tmp_path: Path) -> str:
    databases.create(tmp_path / "database")
    return databases.url(tmp_path / "database")


@dataclass
class Site:
    """A site with its record."""

    racks: ReplayedRacks
    store: Store

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(clusterctl(*words), cwd=self.racks.folder, capture_output=True, text=True, check=False, timeout=_END_S)

    @contextmanager
    def worker(self, name: str, *words: str) -> Iterator[subprocess.Popen[bytes]]:
        argv = clusterctl("worker", "--name", name, "--lost-after", str(_LOST_AFTER_S), *words)
        with (self.racks.folder / f"{name}.log").open("wb") as log, subprocess.Popen(argv, cwd=self.racks.folder, stderr=log) as process:
            try:
                yield process
            finally:
                process.kill()

    def queue(self) -> list[Shard]:
        queued = self.run("provision", "all", "--queue", "--yes", "-o", "json")
        assert queued.returncode == 0, queued.stderr
        assert [s["site"] for s in json.loads(queued.stdout)["shards"] if s["kind"] == "provision"] == list(self.racks.sites.values())
        return list(self.store.shards(json.loads(queued.stdout)["shards"][0]["order_id"]))

    def wait(self, condition: Callable[[], object], what: str) -> None:
        until = time.monotonic() + _END_S
        while not condition():
            assert time.monotonic() < until, f"waited in vain until {what}: {self.logs()}"
            time.sleep(0.1)

    def logs(self) -> str:
        return "\n".join(f.read_text() for f in self.racks.folder.glob("*.log"))

    def shard(self, shard: Shard) -> Shard:
        found = self.store.shard(shard.id)
        assert found is not None
        return found

    def everything(self) -> dict[str, list[tuple[object, ...]]]:
        """All rows but those of workers, which come and go."""
        with reading(self.store._engine) as connection:
            return {x.name: [tuple(r) for r in connection.execute(select(x))] for x in t.metadata.sorted_tables if x is not t.workers}

    def shard_process(self, worker: subprocess.Popen[bytes]) -> int:
        pids = Path(f"/proc/{worker.pid}/task/{worker.pid}/children").read_text().split()
        (pid,) = (pid for pid in pids if b"--one-shard" in Path(f"/proc/{pid}/cmdline").read_bytes())
        return int(pid)


def clusterctl(*words: str) -> list[str]:
    return [sys.executable, "-m", "clusterctl", *words]


def site(tmp_path: Path, url: str, sites: dict[str, str]) -> Site:
    racks = ReplayedRacks(tmp_path / "racks", 2 * len(sites), 2, url, sites)
    return Site(racks, Store.open(url))


def assert_done_once(found: Site, shard: Shard) -> None:
    """Nodes that answer and cannot burn in are quarantined, each once, by the run of the shard."""
    now = found.shard(shard)
    assert (now.state, now.exit_code) == (ShardState.DONE, 7), found.logs()
    assert found.store.run(now.run_id).operator == "ada"
    for name in shard.nodes:
        steps = [s for s in found.store.history(name) if s.to_state is State.QUARANTINED]
        assert [s.run_id for s in steps] == [now.run_id], found.logs()
    assert found.store.leases() == ()
    assert found.store.runs_in_progress() == ()
    assert found.store.unfinished_runs() == ()


def test_workers_take_the_racks_of_their_site(tmp_path: Path, url: str) -> None:
    found = site(tmp_path, url, {"rack_000": "east", "rack_001": "west", "rack_002": "east"})
    east, west, other, across = found.queue()
    with found.racks.answering():
        with found.worker("w1", "--site", "east", "--jobs", "4", "--until-empty") as worker:
            assert worker.wait(_END_S) == 0, found.logs()
        for shard in (east, other):
            assert_done_once(found, shard)
        assert (found.shard(across).state, found.shard(across).exit_code, found.shard(across).run_id) == (ShardState.DONE, 7, "")
        assert found.shard(across).detail == "not measured: fewer than two racks have an admitted node on which no job runs"
        assert found.shard(west).state is ShardState.QUEUED
        shown = found.run("status", "--runs")
        assert "no worker takes racks of site west" in shown.stderr
        with found.worker("w2", "--site", "west", "--until-empty") as worker:
            assert worker.wait(_END_S) == 0, found.logs()
    assert_done_once(found, west)
    assert Counter(s.worker for s in found.store.shards(east.order_id)) == {"w1": 3, "w2": 1}
    assert found.store.workers() == ()


def test_another_worker_goes_on_where_one_was_killed(tmp_path: Path, url: str) -> None:
    found = site(tmp_path, url, {"rack_000": "north"})
    (shard,) = found.queue()
    with found.racks.silent(), found.worker("w1", "--site", "north") as first:
        found.wait(lambda: found.shard(shard).run_id and found.store.runs_in_progress(), "the run began")
        child = found.shard_process(first)
        first.kill()
        found.wait(lambda: not Path(f"/proc/{child}").exists(), "the run ended with its worker")
    killed = found.store.runs(limit=1)[0]
    with found.racks.answering(), found.worker("w2", "--site", "north", "--until-empty") as second:
        assert second.wait(_END_S) == 0, found.logs()
    assert_done_once(found, shard)
    assert (found.shard(shard).token, found.shard(shard).worker, found.shard(shard).failures) == (2, "w2", 0)
    assert found.store.run(killed.id).status in {RunStatus.INTERRUPTED, RunStatus.ABANDONED}


def test_a_worker_that_was_only_paused_writes_nothing_any_more(tmp_path: Path, url: str) -> None:
    found = site(tmp_path, url, {"rack_000": "south"})
    (shard,) = found.queue()
    with found.worker("w1", "--site", "south") as first:
        with found.racks.silent():
            found.wait(lambda: found.shard(shard).run_id and found.store.runs_in_progress(), "the run began")
            child = found.shard_process(first)
            paused = found.store.runs(limit=1)[0]
            for pid in (first.pid, child):
                os.kill(pid, signal.SIGSTOP)
        with found.racks.answering(), found.worker("w2", "--site", "south", "--until-empty") as second:
            assert second.wait(_END_S) == 0, found.logs()
        assert_done_once(found, shard)
        before = found.everything()
        for pid in (child, first.pid):
            os.kill(pid, signal.SIGCONT)
        found.wait(lambda: not Path(f"/proc/{child}").exists(), "the old run ended")
    assert found.everything() == before
    assert found.store.run(paused.id).status is RunStatus.ABANDONED
    assert "was taken by another worker: token 1 is not the newest, which is 2" in found.logs()
