"""A shard ends once, and only the worker that took it last may write."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule
from sqlalchemy import select

from clusterctl.adapters.store import Store
from clusterctl.adapters.store import tables as t
from clusterctl.adapters.store.engine import reading
from clusterctl.model.errors import StaleTokenError
from clusterctl.model.records import RunStatus
from clusterctl.model.shard import Fence, Shard, ShardKind, ShardState
from clusterctl.model.state import State
from support.stores import a_node, a_result, a_run, bring, findings, fresh

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAME = "r12-n01"
RUN = a_run("20260314-090000-provision-aaaa")


def a_shard(rack: str = "r12", **changes: object) -> Shard:
    given: dict[str, object] = {
        "order_id": "order-1",
        "site": "east",
        "rack": rack,
        "nodes": (NAME,),
        "content": "c" * 64,
        "operator": "ada",
    }
    return Shard(**{**given, **changes})  # type: ignore[arg-type]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    found = fresh(tmp_path)
    found.register([a_node(NAME)])
    return found


def fenced_store(tmp_path: Path, fence: Fence) -> Store:
    return Store.open(f"sqlite:///{tmp_path / 'clusterctl.db'}", fence=fence)


def taken(store: Store, worker: str = "w1") -> Shard:
    found = store.take_shard(store.queue_shards([a_shard()])[0].id, worker)
    assert found is not None
    return found


def test_a_shard_is_returned_as_it_was_queued(store: Store) -> None:
    options = {"level": "quick", "roles": ["kernel"]}
    queued = store.queue_shards([a_shard(options=options), a_shard("r13")])
    assert [(s.rack, s.state, s.token, s.ended) for s in queued] == [
        ("r12", ShardState.QUEUED, 0, False),
        ("r13", ShardState.QUEUED, 0, False),
    ]
    assert queued[0].options == options
    assert store.shards("order-1") == queued
    assert store.shards("order-2") == ()


def test_each_worker_that_takes_it_gets_a_higher_token(store: Store) -> None:
    first = taken(store)
    second = store.take_shard(first.id, "w2")
    assert second is not None
    assert (first.token, second.token, second.worker) == (1, 2, "w2")


def test_an_ended_shard_is_taken_by_nobody(store: Store) -> None:
    shard = taken(store)
    store.end_shard(shard.fence, ShardState.DONE, exit_code=7, run_id=RUN.id)
    assert store.take_shard(shard.id, "w2") is None
    assert store.take_shard(shard.id + 1, "w2") is None
    ended = store.shard(shard.id)
    assert ended is not None
    assert (ended.exit_code, ended.run_id, ended.ended) == (7, RUN.id, True)
    assert store.shards(open_only=True) == ()


def test_who_takes_a_shard_releases_what_the_worker_before_held(store: Store, tmp_path: Path) -> None:
    shard = taken(store)
    with fenced_store(tmp_path, shard.fence) as before:
        before.acquire([NAME], run_id=RUN.id, holder="ada")
        before.start_run(RUN, [NAME])
        running = store.shard(shard.id)
        assert running is not None
        assert running.run_id == RUN.id
        store.take_shard(shard.id, "w2")
        assert store.leases() == ()
        assert store.run(RUN.id).status is RunStatus.ABANDONED
        assert store.unfinished_runs() == ()


def test_leases_of_runs_without_a_queue_are_left(store: Store) -> None:
    shard = taken(store)
    store.acquire([NAME], run_id="by-hand", holder="bob")
    store.take_shard(shard.id, "w2")
    assert [x.run_id for x in store.leases()] == ["by-hand"]


WRITES: dict[str, Callable[[Store], object]] = {
    "acquire": lambda s: s.acquire([NAME], run_id="r", holder="ada"),
    "renew": lambda s: s.renew("r"),
    "release": lambda s: s.release("r"),
    "start_run": lambda s: s.start_run(a_run("20260314-090001-provision-bbbb"), [NAME]),
    "finish_run": lambda s: s.finish_run(RUN.id, RunStatus.DONE, 0, {}),
    "save_run_node": lambda s: s.save_run_node(RUN.id, NAME, phase="apply"),
    "transition": lambda s: bring(s, NAME, State.PROVISIONING),
    "save_findings": lambda s: s.save_findings(RUN.id, findings(node=NAME)),
    "save_gate_results": lambda s: s.save_gate_results(RUN.id, [a_result(node=NAME)]),
    "save_doubt": lambda s: s.save_doubt(NAME, "no answer"),
    "register": lambda s: s.register([a_node(NAME, digest="e" * 64)]),
}


def rows(store: Store) -> dict[str, list[tuple[object, ...]]]:
    with reading(store._engine) as connection:
        return {table.name: [tuple(r) for r in connection.execute(select(table))] for table in t.metadata.sorted_tables}


@pytest.mark.parametrize("name", WRITES)
def test_an_old_token_writes_nothing(store: Store, tmp_path: Path, name: str) -> None:
    store.start_run(RUN, [NAME])
    shard = taken(store)
    with fenced_store(tmp_path, shard.fence) as old:
        store.take_shard(shard.id, "w2")
        before = rows(store)
        with pytest.raises(StaleTokenError, match=f"shard {shard.id} was taken by another worker: token 1"):
            WRITES[name](old)
        assert rows(store) == before


@pytest.mark.parametrize("name", WRITES)
def test_the_newest_token_writes(store: Store, tmp_path: Path, name: str) -> None:
    store.start_run(RUN, [NAME])
    with fenced_store(tmp_path, taken(store).fence) as mine:
        WRITES[name](mine)


def test_a_fence_of_no_shard_writes_nothing(store: Store, tmp_path: Path) -> None:
    with fenced_store(tmp_path, Fence(99, 1)) as other, pytest.raises(StaleTokenError, match="which is None"):
        bring(other, NAME, State.PROVISIONING)


def test_what_is_across_waits_for_the_racks_of_its_order_at_its_site(store: Store) -> None:
    across = a_shard("", kind=ShardKind.ACROSS, state=ShardState.WAITING)
    first, second, waiting, *_ = store.queue_shards(
        [a_shard("r12"), a_shard("r13"), across, a_shard("r14", order_id="order-2"), a_shard("r15", site="west")]
    )
    assert store.take_shard(waiting.id, "w1") is None
    for shard, state in ((first, ShardState.DONE), (second, ShardState.FAILED)):
        assert store.release_waiting() == 0
        found = store.take_shard(shard.id, "w1")
        assert found is not None
        store.end_shard(found.fence, state, exit_code=0)
    assert store.release_waiting() == 1
    assert store.release_waiting() == 0
    taken_across = store.take_shard(waiting.id, "w1")
    assert taken_across is not None
    assert (taken_across.kind, taken_across.state) == (ShardKind.ACROSS, ShardState.RUNNING)


def test_what_waits_is_cancelled_with_its_order(store: Store) -> None:
    store.queue_shards([a_shard("r12"), a_shard("", kind=ShardKind.ACROSS, state=ShardState.WAITING), a_shard("r13", order_id="order-2")])
    assert [s.rack for s in store.cancel_shards("order-1", "cancelled by ada")] == ["r12", ""]
    assert [s.rack for s in store.shards(open_only=True)] == ["r13"]


class TwoWorkers(RuleBasedStateMachine):
    """Workers take, end and return one shard in any order, each with the fences that it was given."""

    fences = Bundle("fences")

    def __init__(self) -> None:
        super().__init__()
        self.store = Store.open("sqlite://")
        self.shard_id = self.store.queue_shards([a_shard()])[0].id
        self.newest: Fence | None = None
        self.ends = 0
        self.failures = 0

    @rule(target=fences, worker=st.sampled_from(["w1", "w2"]))
    def take(self, worker: str) -> Fence:
        found = self.store.take_shard(self.shard_id, worker)
        assert (found is None) == bool(self.ends)
        if found is None:
            return Fence(self.shard_id, 0)
        assert self.newest is None or found.token > self.newest.token
        self.newest = found.fence
        self.running = True
        return found.fence

    running = False

    def may(self, fence: Fence) -> bool:
        return fence == self.newest and self.running

    @rule(fence=fences, state=st.sampled_from([ShardState.DONE, ShardState.FAILED]))
    def end(self, fence: Fence, state: ShardState) -> None:
        if not self.may(fence):
            with pytest.raises(StaleTokenError):
                self.store.end_shard(fence, state, exit_code=0)
            return
        self.store.end_shard(fence, state, exit_code=0)
        self.ends += 1
        self.running = False

    @rule(fence=fences, failed=st.booleans())
    def give_back(self, fence: Fence, failed: bool) -> None:
        if not self.may(fence):
            with pytest.raises(StaleTokenError):
                self.store.queue_again(fence, "x", failed=failed)
            return
        self.store.queue_again(fence, "x", failed=failed)
        self.failures += failed
        self.running = False

    @invariant()
    def it_ends_once(self) -> None:
        found = self.store.shard(self.shard_id)
        assert found is not None
        assert self.ends <= 1
        assert found.ended == bool(self.ends)
        assert (found.state is ShardState.RUNNING) == self.running
        assert found.failures == self.failures

    def teardown(self) -> None:
        self.store.close()


TestTwoWorkers = TwoWorkers.TestCase
TestTwoWorkers.settings = settings(max_examples=30, stateful_step_count=20)  # each begins with an empty database
