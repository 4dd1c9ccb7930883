"""Two at the same moment do not both use the same headroom: one takes its nodes out, then the other looks how much is left."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.pools.local import LocalPool
from clusterctl.adapters.store import Store
from clusterctl.model.errors import BreakerError, PoolTurnHeldError
from clusterctl.model.state import State
from clusterctl.workflows.drain import drain
from clusterctl.workflows.lease import pool_turn
from support.provisioning import World

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAMES = ("r12-n01", "r12-n02", "r12-n03", "r12-n04")
FIRST, SECOND = NAMES[:2], NAMES[2:]
_END_S = 20


@dataclass
class SlowPool(LocalPool):
    """A pool from which a removal takes until `go`; a run in it works on its nodes until `end`."""

    store: Store
    inside: threading.Event = field(default_factory=threading.Event)
    go: threading.Event = field(default_factory=threading.Event)
    end: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        super().__init__(self.store)

    def remove(self, node: str, reason: str) -> bool:
        self.inside.set()
        assert self.go.wait(_END_S)
        return super().remove(node, reason)


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[SlowPool]:
    World(tmp_path, names=NAMES).run()
    with Store.open(World(tmp_path).url) as store:
        yield SlowPool(store)


def world(tmp_path: Path, pool: SlowPool | None = None) -> World:
    found = World(tmp_path, names=NAMES, bad={n: {"kernel"} for n in NAMES}, pool=pool)
    if pool:
        found.before = lambda operation: None if operation == "validate" or pool.end.wait(_END_S) else pytest.fail("nobody ended it")
    return found


def test_two_runs(tmp_path: Path, pool: SlowPool) -> None:
    with ThreadPoolExecutor() as threads:
        first = threads.submit(world(tmp_path, pool).run, *FIRST)
        assert pool.inside.wait(_END_S)
        second = threads.submit(world(tmp_path).run, *SECOND)
        threading.Timer(0.5, pool.go.set).start()
        with pytest.raises(BreakerError, match="provisioning 2 of"):
            second.result(_END_S)
        pool.end.set()
        assert {r.state for r in first.result(_END_S).nodes} == {State.ADMITTED}
    with Store.open(world(tmp_path).url) as store:
        assert store.leases() == ()


@pytest.mark.parametrize("force", [False, True])
def test_a_drain_beside_a_run_waits_unless_it_is_forced(tmp_path: Path, pool: SlowPool, force: bool) -> None:
    def drained() -> None:
        with Store.open(world(tmp_path).url) as store:
            drain(store, LocalPool(store), store.nodes(SECOND), operator="bob", reason="fan", owner="bob", force=force)

    with ThreadPoolExecutor() as threads:
        first = threads.submit(world(tmp_path, pool).run, *FIRST)
        assert pool.inside.wait(_END_S)
        if force:
            drained()
            pool.go.set()
        else:
            threading.Timer(0.5, pool.go.set).start()
            with pytest.raises(BreakerError, match="draining 2 of"):
                drained()
        pool.end.set()
        first.result(_END_S)


def test_nobody_waits_for_ever(pool: SlowPool) -> None:
    other = pool_turn(pool.store, holder="bob", wait_s=0)
    with (
        pool_turn(pool.store, holder="ada, run 1"),
        pytest.raises(PoolTurnHeldError, match="ada, run 1 has been taking nodes out") as caught,
        other,
    ):
        pass
    assert "since" in str(caught.value)
    with pool_turn(pool.store, holder="bob", wait_s=0):
        assert [x.holder for x in pool.store.leases()] == ["bob"]


def test_the_turn_ends_before_what_runs_on_the_nodes_is_waited_for(tmp_path: Path, pool: SlowPool) -> None:
    held: list[bool] = []

    def look(_operation: str) -> None:
        with Store.open(world(tmp_path).url) as store:
            held.append(any("turn" in x.node for x in store.leases()))

    pool.go.set()
    found = world(tmp_path, pool)
    found.before = lambda operation: look(operation) if operation != "validate" else None
    found.run(*FIRST)
    assert held
    assert not any(held)
