"""What a scheduler refuses for one node ends that node and no other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.store import Store
from clusterctl.model.errors import PoolUnreachableError
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.state import State
from support.lossy_pool import LossyPool
from support.provisioning import World
from support.refusing_pool import RefusingPool

if TYPE_CHECKING:
    from pathlib import Path

N1, N2, N3 = ALL = ("r12-n01", "r12-n02", "r12-n03")


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path)
    assert made.run().exit_code is ExitCode.OK
    made.bad = {n: {"kernel"} for n in ALL}
    made.calls.clear()
    return made


def test_a_node_that_cannot_be_taken_out_is_not_touched_and_the_others_go_on(world: World) -> None:
    with Store.open(world.url) as store:
        world.pool = RefusingPool(store, [N2])
        result = world.run(force=True)
    ended = {n.node: n for n in result.nodes}
    assert (ended[N2].state, ended[N2].exit_code) == (State.ADMITTED, ExitCode.CHANGES_PENDING)
    assert "Slurm reboots r12-n02" in ended[N2].reason
    assert ended[N2].reasons[0].hint == "wait until it is back"
    assert ended[N1].exit_code is ended[N3].exit_code is ExitCode.OK
    assert set(world.states().values()) == {State.ADMITTED}
    assert all(N2 not in nodes for what, nodes in world.calls if what != "validate")
    assert world.members() == set(ALL)


def test_where_no_node_can_be_taken_out_nothing_is_touched(world: World) -> None:
    with Store.open(world.url) as store:
        world.pool = RefusingPool(store, ALL)
        result = world.run(force=True)
    assert {n.exit_code for n in result.nodes} == {ExitCode.CHANGES_PENDING}
    assert [what for what, _ in world.calls] == ["validate"]
    assert world.members() == set(ALL)


def test_a_scheduler_that_does_not_answer_ends_the_run(world: World) -> None:
    with Store.open(world.url) as store:
        pool = world.pool = LossyPool(store)
        pool.now(["lost before", "lost before"])
        with pytest.raises(PoolUnreachableError):
            world.run(force=True)
    assert [what for what, _ in world.calls] == ["validate"]
