"""What a worker does with the shard that it was given, whatever becomes of the shard's process."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.job_queue import RetryLaterError
from clusterctl.model.errors import ContentDiffersError
from clusterctl.model.provision import Note
from clusterctl.model.shard import Shard, ShardState, Worker
from clusterctl.workflows.queue.work import MOST_FAILURES, ShardCommand, ShardWorker
from support.stores import fresh

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.adapters.store import Store

ENDS = "import json, sys; sys.path[:0] = {path!r}\nfrom clusterctl.adapters.store import Store\nfrom clusterctl.model.shard import Fence, ShardState\n\
with Store.open({url!r}) as s: s.end_shard(Fence(**json.loads(sys.stdin.readline())), ShardState.DONE, exit_code=7, run_id='r')\nsys.exit(7)"
HELD = "import json, sys; sys.path[:0] = {path!r}\nfrom clusterctl.adapters.store import Store\nfrom clusterctl.model.shard import Fence\n\
with Store.open({url!r}) as s: s.queue_again(Fence(**json.loads(sys.stdin.readline())), 'held by bob', failed=False)\nsys.exit(3)"
FAILS = "import sys; sys.exit(3)"
DIES = "import os; os.kill(os.getpid(), 9)"
WAITS = "import sys, time; open({file!r}, 'w').write('begun'); sys.stdin.read(); open({file!r}, 'w').write('ended')"


@dataclass
class Bench:
    """A worker whose shards run `script`."""

    store: Store
    folder: Path
    script: str
    content: str = "c"
    told: list[Shard | Note | str] = field(default_factory=list)

    def worker(self) -> ShardWorker:
        script = self.script.format(url=f"sqlite:///{self.folder / 'clusterctl.db'}", path=sys.path, file=str(self.folder / "seen"))
        about = Worker("w1", "east", "c", 1)
        return ShardWorker(
            self.store, "", about, lambda: self.content, ShardCommand((sys.executable, "-c", script), {}), self.told.append, 30
        )

    def shard(self) -> Shard:
        return self.store.queue_shards([Shard("order-1", "east", "r12", ("r12-n01",), "c", "ada")])[0]

    def now(self, shard: Shard) -> Shard:
        found = self.store.shard(shard.id)
        assert found is not None
        return found


@pytest.fixture
def bench(tmp_path: Path, request: pytest.FixtureRequest) -> Bench:
    return Bench(fresh(tmp_path), tmp_path, request.param)


def words(bench: Bench) -> str:
    return "\n".join(x.text if isinstance(x, Note) else str(x) for x in bench.told)


@pytest.mark.parametrize("bench", [ENDS], indirect=True)
def test_a_shard_that_recorded_its_end_is_done(bench: Bench) -> None:
    shard = bench.shard()
    asyncio.run(bench.worker()._provision(shard.id))
    assert (bench.now(shard).state, bench.now(shard).exit_code) == (ShardState.DONE, 7)
    assert [x.state for x in bench.told if isinstance(x, Shard)] == [ShardState.RUNNING, ShardState.DONE]


@pytest.mark.parametrize("bench", [FAILS], indirect=True)
def test_one_that_did_not_is_queued_again_later_and_later_and_fails_at_last(bench: Bench) -> None:
    shard, waits = bench.shard(), []
    for _ in range(MOST_FAILURES - 1):
        with pytest.raises(RetryLaterError) as caught:
            asyncio.run(bench.worker()._provision(shard.id))
        waits.append(caught.value.after_s)
        assert bench.now(shard).state is ShardState.QUEUED
    assert waits == [5, 10, 20, 40]
    assert "is queued again: its process ended with exit code 3" in words(bench)
    asyncio.run(bench.worker()._provision(shard.id))
    ended = bench.now(shard)
    assert (ended.state, ended.exit_code) == (ShardState.FAILED, 3)
    assert ended.detail == "its process ended with exit code 3, for the 5th time"


@pytest.mark.parametrize("bench", [HELD], indirect=True)
def test_a_shard_whose_nodes_another_run_holds_waits_for_it_however_often(bench: Bench) -> None:
    shard = bench.shard()
    for _ in range(MOST_FAILURES + 1):
        with pytest.raises(RetryLaterError) as caught:
            asyncio.run(bench.worker()._provision(shard.id))
        assert caught.value.after_s == 30
    assert (bench.now(shard).state, bench.now(shard).failures, bench.now(shard).detail) == (ShardState.QUEUED, 0, "held by bob")


@pytest.mark.parametrize("bench", [DIES], indirect=True)
def test_a_killed_process_is_named_by_its_signal(bench: Bench) -> None:
    shard = bench.shard()
    with pytest.raises(RetryLaterError):
        asyncio.run(bench.worker()._provision(shard.id))
    assert bench.now(shard).detail == "its process was ended by signal 9"


@pytest.mark.parametrize("bench", [FAILS], indirect=True)
def test_what_was_interrupted_with_the_worker_is_not_counted_as_a_failure(bench: Bench) -> None:
    shard, worker = bench.shard(), bench.worker()
    worker._stopping = True
    with pytest.raises(RetryLaterError) as caught:
        asyncio.run(worker._provision(shard.id))
    assert (caught.value.after_s, bench.now(shard).failures) == (0, 0)


@pytest.mark.parametrize("bench", [WAITS], indirect=True)
def test_the_shard_of_another_worker_is_left_to_it(bench: Bench) -> None:
    shard, worker = bench.shard(), bench.worker()

    async def taken_over() -> None:
        doing = asyncio.create_task(worker._provision(shard.id))
        await begun(bench)
        bench.store.take_shard(shard.id, "w2")
        worker._stop()
        worker._stop()
        await doing

    asyncio.run(taken_over())
    now = bench.now(shard)
    assert (now.state, now.worker, now.token) == (ShardState.RUNNING, "w2", 2)


@pytest.mark.parametrize("bench", [WAITS], indirect=True)
def test_a_worker_that_loses_the_queue_ends_its_processes(bench: Bench) -> None:
    shard, worker = bench.shard(), bench.worker()

    async def cancelled() -> int | None:
        doing = asyncio.create_task(worker._provision(shard.id))
        await begun(bench)
        process = next(iter(worker._processes))
        doing.cancel()
        await asyncio.wait([doing])
        return process.returncode

    assert asyncio.run(cancelled()) == -15
    assert bench.now(shard).state is ShardState.RUNNING  # until another worker takes it


@pytest.mark.parametrize("bench", [ENDS], indirect=True)
def test_an_ended_shard_starts_no_process(bench: Bench) -> None:
    shard = bench.shard()
    found = bench.store.take_shard(shard.id, "w0")
    assert found is not None
    bench.store.end_shard(found.fence, ShardState.DONE, exit_code=0)
    asyncio.run(bench.worker()._provision(shard.id))
    assert bench.told == []


@pytest.mark.parametrize("bench", [ENDS], indirect=True)
def test_a_worker_whose_checkout_was_changed_takes_nothing_more(bench: Bench) -> None:
    shard, worker = bench.shard(), bench.worker()
    bench.content = "d"
    with pytest.raises(RetryLaterError):
        asyncio.run(worker._provision(shard.id))
    assert worker._stopping
    assert bench.now(shard) == shard
    with pytest.raises(ContentDiffersError, match="this worker is for content c, this machine has d"):
        asyncio.run(worker.run())


async def begun(bench: Bench) -> None:
    for _ in range(200):
        if (bench.folder / "seen").exists():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("the process did not begin")
