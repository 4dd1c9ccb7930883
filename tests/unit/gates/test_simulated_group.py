"""`nccl_group` from plan to verdict: real agents on loopback addresses start the ranks of the simulated MPI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.adapters.config import Config
from clusterctl.adapters.run_directory import RunDir
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome
from clusterctl.workflows.burnin import measure
from clusterctl.workflows.burnin import measure_and_judge as burnin
from clusterctl.workflows.burnin.measure_and_judge import run_burnin, subjects_of
from support.agents import address_of
from support.gates import TODAY, gates, node
from support.simulated_group import SimulatedGroup

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from clusterctl.model.node import Node

Run = tuple[SimulatedGroup, "Sequence[GateResult]"]


def members(count: int, **settings: Any) -> tuple[Node, ...]:
    declared = gates(gates_settings={"nccl_group": {"timeout_s": 60, "peer_wait_s": 30, **settings}})
    return tuple(node(f"n{i}", rails=8, declared=declared, host=address_of(f"n{i}")) for i in range(1, count + 1))


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Run]:
    def measured(count: int, peers: dict[str, dict[str, Any]], **settings: Any) -> Run:
        group = SimulatedGroup(tmp_path, peers)
        monkeypatch.setattr(measure, "run_playbook", group.play)
        monkeypatch.setattr(burnin, "_today", lambda: TODAY)
        config = Config(tmp_path, (), tmp_path)
        rundir = RunDir.create(tmp_path, "burnin")
        found = run_burnin(subjects_of(members(count, **settings)), rundir, config, "standard", gates=["nccl_group"])
        return group, [r for r in found if r.gate == "nccl_group"]

    return measured


def test_every_member_runs_its_ranks_through_its_agent(run: Callable[..., Run]) -> None:
    group, found = run(3, {})
    assert {(r.node, r.outcome) for r in found} == {(f"n{i}", Outcome.PASS) for i in (1, 2, 3)}
    for name in ("n2", "n3"):
        own = next(r for r in group.records[name] if r.step == "member")
        assert (own.error, own.exit_status, own.simulated) == ("", 0, True)


def test_a_node_without_the_program_keeps_the_group_from_running(run: Callable[..., Run]) -> None:
    _, found = run(2, {"n2": {"tests": ""}})
    assert {(r.outcome, r.reason) for r in found} == {(Outcome.COULD_NOT_RUN, GateReason.EXIT_STATUS)}
