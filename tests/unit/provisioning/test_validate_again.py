"""A node that answered earlier in the run and cannot be reached now is tried again. Fake nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.findings import NodeStatus
from clusterctl.model.provision import Note
from clusterctl.model.state import State
from support.provisioning import World

if TYPE_CHECKING:
    from pathlib import Path

N1, N2 = NAMES = ("r12-n01", "r12-n02")


class RestartingWorld(World):
    """Two nodes; the second one is lost before `operation`, for `validations` of the nodes."""

    operation = "reboot"
    validations = 2
    status = NodeStatus.UNREACHABLE

    def _call(self, what: str, names: object) -> None:
        super()._call(what, names)  # type: ignore[arg-type]
        if what == self.operation:
            self.lost = {N2: self.status}
        elif what == "validate" and self.lost:
            self.validations -= 1
            self.lost = self.lost if self.validations >= 0 else {}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RestartingWorld:
    monkeypatch.setattr("clusterctl.workflows.provision.validate_again._PAUSE_S", 0.0)
    made = RestartingWorld(tmp_path, names=NAMES, reconnect_s=60.0)
    made.bad, made.reboot = {n: {"kernel"} for n in NAMES}, {"kernel"}
    return made


@pytest.mark.parametrize("operation", ["reboot", "burn_in"])
def test_what_restarts_costs_no_node(world: RestartingWorld, operation: str) -> None:
    world.operation = operation
    assert world.run().exit_code is ExitCode.OK
    assert world.states() == dict.fromkeys(NAMES, State.ADMITTED)
    first = world.calls.index(("validate", (N2,)))
    assert world.calls[first : first + 3] == [("validate", (N2,)), ("validate", (N2,)), ("validate", NAMES)], (
        "together: findings are of the rack"
    )
    notes = [p.text for p in world.progress if isinstance(p, Note) and "no connection" in p.text]
    assert notes == [f"no connection to {N2}: tried again for 60 s"]


def test_a_node_that_stays_away_is_out(world: RestartingWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clusterctl.workflows.provision.validate_again._PAUSE_S", 0.02)
    world.validations, world.reconnect_s = 9999, 0.1
    assert world.run().exit_code is ExitCode.UNREACHABLE
    assert world.states() == {N1: State.ADMITTED, N2: State.QUARANTINED}


@pytest.mark.parametrize("status", sorted(set(NodeStatus) - {NodeStatus.OK, NodeStatus.UNREACHABLE}))
def test_what_does_not_pass_by_itself_is_not_tried_again(world: RestartingWorld, status: NodeStatus) -> None:
    world.status = status
    world.run()
    assert ("validate", (N2,)) not in world.calls
    assert world.states() == {N1: State.ADMITTED, N2: State.QUARANTINED}


def test_a_node_that_never_answered_is_not_waited_for(world: RestartingWorld) -> None:
    world.lost = {N2: NodeStatus.UNREACHABLE}
    world.validations = 9999
    world.run()
    assert ("validate", (N2,)) not in world.calls
