"""A scheduler that does not answer while nodes enter its pool: waited for up to a limit, then no longer tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.pools.answering import Answering
from clusterctl.adapters.store import Store
from clusterctl.model.errors import PoolError, PoolStateUnknownError, PoolUnreachableError
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.state import State
from support.lossy_pool import LossyPool
from support.provisioning import World
from support.stores import fresh

if TYPE_CHECKING:
    from pathlib import Path

LOST = PoolUnreachableError(detail="slurmctld does not answer", hint="`scontrol ping`")
ALL = ("r12-n01", "r12-n02", "r12-n03")


class RestartingPool(LossyPool):
    """Silent for the next `silent` calls of `members`, and for any change meanwhile. `changes`: the nodes that were to enter."""

    def __init__(self, store: Store, silent: int) -> None:
        super().__init__(store)
        self.silent, self.looks = silent, 0
        self.changes: list[str] = []

    def members(self) -> frozenset[str]:
        """See `Pool.members`."""
        self.looks += 1
        if self.silent:
            self.silent -= 1
            raise LOST
        return super().members()

    def admit(self, node: str, reason: str) -> bool:
        """See `Pool.admit`."""
        self.changes.append(node)
        return super().admit(node, reason)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return fresh(tmp_path)


def test_nothing_is_read_where_nothing_is_in_doubt(store: Store) -> None:
    pool = RestartingPool(store, 1)
    Answering(pool, 9.0).require()
    assert pool.looks == 0


@pytest.mark.parametrize("error", [LOST, PoolStateUnknownError(detail="x", hint="y")], ids=["lost", "unknown"])
def test_after_a_lost_answer_it_is_found_out(store: Store, error: PoolError) -> None:
    pool, reported = RestartingPool(store, 3), list[str]()
    answering = Answering(pool, 9.0, waiting=lambda e: reported.append(str(e)), pause_s=0.001)
    answering.note(error)
    answering.require()
    answering.require()
    assert (pool.looks, reported) == (4, ["slurmctld does not answer"])
    assert 0 < answering.limit_s < 9


def test_a_refusal_is_an_answer(store: Store) -> None:
    pool = RestartingPool(store, 1)
    answering = Answering(pool, 9.0)
    answering.note(PoolError(detail="Slurm refused", hint="rights"))
    answering.require()
    assert pool.looks == 0


def test_later_than_the_limit_it_is_not_tried_again(store: Store) -> None:
    pool = RestartingPool(store, 1000)
    answering = Answering(pool, 0.01, in_doubt=True, pause_s=0.002)
    for _ in range(3):
        with pytest.raises(PoolUnreachableError, match="slurmctld does not answer"):
            answering.require()
    assert pool.looks < 20
    looks = pool.looks
    with pytest.raises(PoolUnreachableError):
        answering.require()
    assert pool.looks == looks


def test_without_a_limit_it_is_tried_once(store: Store) -> None:
    pool = RestartingPool(store, 1)
    answering = Answering(pool, in_doubt=True)
    with pytest.raises(PoolUnreachableError):
        answering.require()
    assert pool.looks == 1


def admitted_by(world: World, pool: RestartingPool, answering: Answering) -> ExitCode:
    world.pool, world.answering = pool, answering
    return world.run().exit_code


def test_a_scheduler_that_restarts_meanwhile_costs_no_admission(tmp_path: Path) -> None:
    world = World(tmp_path)
    with Store.open(world.url) as store:
        pool = RestartingPool(store, 0)
        world.once_before("burn_in", lambda: setattr(pool, "silent", 3))
        code = admitted_by(world, pool, Answering(pool, 9.0, in_doubt=True, pause_s=0.001))
    assert code is ExitCode.OK
    assert set(world.states().values()) == {State.ADMITTED}
    assert world.members() == set(ALL)


def test_a_scheduler_that_stays_away_is_tried_for_one_node(tmp_path: Path) -> None:
    world = World(tmp_path)
    with Store.open(world.url) as store:
        pool = RestartingPool(store, 0)
        world.once_before("burn_in", lambda: setattr(pool, "silent", 1000))
        code = admitted_by(world, pool, Answering(pool, 0.01, in_doubt=True, pause_s=0.001))
    assert code is ExitCode.CHANGES_PENDING
    assert set(world.states().values()) == {State.DRAINED}
    assert set(world.reasons().values()) == {"slurmctld does not answer"}
    assert pool.changes == []
    world.pool = None
    assert {a.verdict.admit for a in world.admit()} == {True}
    assert world.members() == set(ALL)
