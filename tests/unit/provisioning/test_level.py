"""What was measured is compared with the level that is chosen now; a gate outside of it is a usage error."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.store import Store
from clusterctl.core.admission.record import gates_of
from clusterctl.core.gates.subject import subject_of
from clusterctl.model.errors import UsageProblemError
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.plan import PlannedAction
from clusterctl.model.state import State
from clusterctl.workflows.burnin.measure_and_judge import require_in_level
from support.gates import TODAY, gates
from support.gates import node as gate_node
from support.provisioning import GATES, World

if TYPE_CHECKING:
    from pathlib import Path

N1 = "r12-n01"
FULL = (*GATES, "nccl_node")


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A node that was admitted at a lower level."""
    world = World(tmp_path, names=(N1,), bad={N1: {"kernel"}})
    assert world.run().exit_code is ExitCode.OK
    world.calls.clear()
    return world


def test_a_higher_level_is_measured(world: World) -> None:
    world.level = FULL
    assert world.run(force=True).exit_code is ExitCode.OK
    assert ("burn_in", (N1,)) in world.calls
    assert "admitted without nccl_node" in world.plans[-1].nodes[0].why
    with Store.open(world.url) as store:
        assert gates_of(store.admissions(N1)[-1]) == set(FULL)


@pytest.mark.parametrize("level", [GATES, GATES[:1]])
def test_the_same_or_a_lower_level_is_not(world: World, level: tuple[str, ...]) -> None:
    world.level = level
    assert world.run().exit_code is ExitCode.OK
    assert [c[0] for c in world.calls] == ["validate"]


def test_it_is_planned_and_not_done_unasked(world: World) -> None:
    world.level, world.answer = FULL, False
    assert world.run(force=True).declined
    assert world.plans[-1].nodes[0].action is PlannedAction.PROVISION
    assert world.states() == {N1: State.ADMITTED}


def test_a_gate_outside_of_the_level_is_a_usage_error() -> None:
    subjects = [subject_of(gate_node("n1", declared=gates()), TODAY)]
    require_in_level(subjects, "quick", ["dcgm_diag", "load_errors"])
    require_in_level(subjects, "standard", ["nccl_group"])
    with pytest.raises(UsageProblemError, match="nccl_group is not in the level quick of n1") as caught:
        require_in_level(subjects, "quick", ["dcgm_diag", "nccl_group"])
    assert "--level standard has it" in caught.value.hint
    with pytest.raises(UsageProblemError, match="unknown gate 'nccl_grup'") as caught:
        require_in_level(subjects, "quick", ["nccl_grup"])
    assert "nccl_group" in caught.value.hint
