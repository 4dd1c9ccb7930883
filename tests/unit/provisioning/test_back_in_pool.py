"""Nothing enters a pool but by a decision of now, on all checks of the node and on what was measured."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.pools.local import LocalPool
from clusterctl.adapters.store import Store
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.gate_result import Outcome
from clusterctl.model.state import State
from support.provisioning import World

if TYPE_CHECKING:
    from pathlib import Path

N1, N2 = "r12-n01", "r12-n02"


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Two admitted nodes; the second is missing in the pool, as after a controller that died between pool and record."""
    world = World(tmp_path, names=(N1, N2), bad={N1: {"kernel"}, N2: {"kernel"}})
    assert world.run().exit_code is ExitCode.OK
    with Store.open(world.url) as store:
        LocalPool(store).remove(N2, "provisioning")
    assert world.members() == {N1}
    return world


@pytest.mark.parametrize("roles", [(), ("hugepages",), ("kernel",)])
def test_as_declared_it_returns(world: World, roles: tuple[str, ...]) -> None:
    assert world.run(roles=roles).exit_code is ExitCode.OK
    assert world.members() == {N1, N2}


def test_with_failing_checks_of_roles_that_were_not_selected_it_is_drained(world: World) -> None:
    world.bad = {N2: {"kernel"}}
    result = world.run(roles=("hugepages",))
    assert result.exit_code is ExitCode.CHANGES_PENDING
    assert world.members() == {N1}
    assert world.states() == {N1: State.ADMITTED, N2: State.DRAINED}
    assert "kernel.value.running" in next(n for n in result.nodes if n.node == N2).reason


def test_with_a_fault_that_was_measured_meanwhile_it_is_drained(world: World) -> None:
    failed = replace(world.gate(N2, "dcgm_diag"), outcome=Outcome.FAIL)
    with Store.open(world.url) as store:
        store.save_gate_results(store.runs()[0].id, [failed])
    assert world.run().exit_code is ExitCode.CHANGES_PENDING
    assert world.states()[N2] is State.DRAINED
    assert world.members() == {N1}


def test_booted_since_it_was_measured_it_is_drained(world: World) -> None:
    world.boot_id = "boot-2"
    assert world.run().exit_code is ExitCode.CHANGES_PENDING
    assert world.states() == {N1: State.ADMITTED, N2: State.DRAINED}
    assert world.run().exit_code is ExitCode.OK, "drained by nobody, it is measured again"
    assert world.members() == {N1, N2}


@pytest.mark.parametrize("broken", ["kernel", ""])
def test_a_declined_plan_leaves_it_as_it_is(world: World, broken: str) -> None:
    world.bad = {N1: {"kernel"}, N2: {broken} - {""}}
    world.answer = False
    assert world.run(force=True).declined
    assert world.members() == {N1}
    assert world.states() == {N1: State.ADMITTED, N2: State.ADMITTED}
