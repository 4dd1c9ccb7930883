"""Bad devices among many, from plan to verdict: in simulated fleets, and with real agents."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterctl.adapters.config import Config
from clusterctl.adapters.run_directory import RunDir
from clusterctl.core.gates.judging.own_history import usual_values
from clusterctl.core.gates.planning.gate_plan import plan_again, plan_gates
from clusterctl.core.repairs import repair_of_result
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import Outcome
from clusterctl.model.node import Place
from clusterctl.model.own_history import PastResult
from clusterctl.model.repair import Component, NextAction, Repair
from clusterctl.workflows.burnin import measure
from clusterctl.workflows.burnin import measure_and_judge as burnin
from clusterctl.workflows.burnin.measure_and_judge import run_burnin, subjects_of
from clusterctl.workflows.judge_again import judge_stored
from culprits.fleet import Fleet, night_of, records_of
from support.agents import address_of
from support.gates import TODAY, gates, node
from support.simulated_pairs import SimulatedPairs

if TYPE_CHECKING:
    from pathlib import Path


@settings(deadline=None, max_examples=12)
@given(st.integers(24, 90), st.integers(6, 16), st.data(), st.text("abc", min_size=1, max_size=3))
def test_without_noise_the_bad_are_marked_faulty_and_no_other_in_six_rounds(
    count: int, per_leaf: int, data: st.DataObject, run: str
) -> None:
    bad = data.draw(
        st.sets(st.integers(0, count - 1), max_size=count // 10).filter(lambda some: len({i // per_leaf for i in some}) == len(some))
    )
    fleet = Fleet(count, per_leaf, bad=frozenset(f"n{i}" for i in bad), noise=0.0)
    found = night_of(fleet, fleet.subjects(), run)
    assert found.marked_faulty == fleet.bad
    assert {r.outcome for r in found.results} <= {Outcome.PASS, Outcome.FAIL}
    assert found.rounds <= 6
    # each of the bad has three meetings, and a good one that had only bad partners has had two at least
    assert len(bad) <= found.suspects <= len(bad) + 3 * len(bad) // 2
    assert found.runs <= 2 * found.suspects + 3 * count / 2


def test_a_collision_condemns_nobody_and_is_kept() -> None:
    fleet = Fleet(64, 16, noise=0.03)
    subjects = fleet.subjects()
    nights = [night_of(fleet, subjects, f"run-{i}") for i in range(5)]
    assert {r.outcome for night in nights for r in night.results} == {Outcome.PASS, Outcome.WARN}
    assert all(night.with_reason(GateReason.COLLISION) for night in nights)
    assert {r.value >= 360 for night in nights for r in night.results if r.value is not None} == {True}


def leaf_number(name: str) -> int:
    return int(name[1:]) // 16


def test_low_uplinks_of_a_leaf_are_blamed_on_the_leaf_and_on_no_node() -> None:
    fleet = Fleet(96, 16, noise=0.0, low=lambda a, b, _: (leaf_number(a) == 2) != (leaf_number(b) == 2))
    found = night_of(fleet, fleet.subjects(), "run")
    assert found.marked_faulty == frozenset()
    behind = [r for r in found.results if r.outcome is Outcome.COULD_NOT_RUN]
    assert {r.reason for r in behind} == {GateReason.SHARED_FAULT}
    assert {leaf_number(r.node) for r in behind} == {2}
    assert all("the uplinks of the leaf, no HCA" in r.detail and "of leaf2" in r.detail for r in behind)
    assert {repair_of_result(r) for r in behind} == {Repair(Component.SWITCH, NextAction.CHECK_SWITCH, "leaf2, rail 0")}
    assert found.suspects == 0
    assert {r.outcome for r in found.results if leaf_number(r.node) != 2} <= {Outcome.PASS, Outcome.WARN}


def test_a_low_rail_of_a_scalable_unit_is_its_switch() -> None:
    fleet = Fleet(64, 8, rails=3, noise=0.0, low=lambda _a, _b, rail: rail == 1)
    found = night_of(fleet, fleet.subjects(), "run")
    behind = {(r.device, r.reason) for r in found.results if r.outcome is not Outcome.PASS}
    assert behind == {("mlx5_1", GateReason.SHARED_FAULT)}
    assert all("the switch of the rail, no HCA" in r.detail for r in found.results if r.device == "mlx5_1")
    assert {repair_of_result(r).component_name for r in found.results if r.outcome is not Outcome.PASS} == {"su0, rail 1"}
    assert found.suspects == 0


def test_all_rails_of_a_node_are_its_root_complex_and_no_cables() -> None:
    fleet = Fleet(32, 8, rails=3, noise=0.0, low=lambda a, b, _: "n5" in (a, b))
    bad = [r for r in night_of(fleet, fleet.subjects(), "run").results if r.outcome is not Outcome.PASS]
    assert {(r.node, r.outcome) for r in bad} == {("n5", Outcome.FAIL)}
    assert all("all 3 rails of n5 are low" in r.detail and "root complex, BIOS and ACS of n5" in r.hint for r in bad)


def test_pairs_that_are_low_between_two_leaves_are_the_path_between_them() -> None:
    fleet = Fleet(64, 32, noise=0.0, low=lambda a, b, _: int(a[1:]) < 32 <= int(b[1:]) and int(a[1:]) % 4 > 0 and int(b[1:]) % 4 > 0)
    found = night_of(fleet, fleet.subjects(), "run")
    assert found.marked_faulty == frozenset()
    assert any("the path between leaf0 and leaf1" in r.detail for r in found.results)


def test_only_suspects_and_their_partners_are_measured_again() -> None:
    fleet = Fleet(40, 8, rails=2, bad=frozenset({"n3", "n20"}), noise=0.0)
    subjects = fleet.subjects()
    gates_run = ("rdma_pair", "load_errors")
    records = records_of(fleet, plan_gates(subjects, "standard", ("rdma_pair",), seed="r"), "r")
    plan = plan_again(subjects, records, "standard", gates_run, seed="r")
    assert len(plan.busy) <= 6
    assert {"n3", "n20"} < set(plan.busy)
    pairs = [s for own in plan.steps.values() for s in own if s.gate == "rdma_pair"]
    assert {s.device for s in pairs} == {"mlx5_0"}, "a rail that is proven is not measured again"
    assert {len({s.peer for s in plan.steps[n] if s.gate == "rdma_pair"}) for n in fleet.bad} == {2}
    first = {s.port for own in plan_gates(subjects, "standard", ("rdma_pair",), seed="r").steps.values() for s in own}
    assert not first & {s.port for s in pairs}
    assert {own[-1].name for own in plan.steps.values() if own} == {"after.nodes.again"}


@pytest.mark.slow
def test_agents_measure_the_suspects_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = SimulatedPairs(tmp_path, {"n4": 196.0})
    monkeypatch.setattr(measure, "run_playbook", pairs.play)
    monkeypatch.setattr(burnin, "_today", lambda: TODAY)
    declared = gates(gates_settings={"rdma_pair": {"duration_s": 1, "timeout_s": 30, "base_port": 21000}})
    some = [
        replace(node(f"n{i}", rails=1, declared=declared, host=address_of(f"n{i}")), place=Place(leaf=f"leaf{i % 2}")) for i in range(1, 9)
    ]
    rundir = RunDir.create(tmp_path, "burnin")
    found = run_burnin(subjects_of(some), rundir, Config(tmp_path, (), tmp_path), "standard", gates=["rdma_pair"])
    bad = [r for r in found if r.outcome is not Outcome.PASS]
    assert [(r.node, r.outcome, r.reason) for r in bad] == [("n4", Outcome.FAIL, GateReason.BELOW_FLOOR)]
    assert "again low with" in bad[0].detail
    assert len(pairs.plays) == 2
    assert "n4" in pairs.plays[1]
    assert {"round0", "round1", "round2", "again3"} <= pairs.rounds
    assert set(judge_stored(rundir.path, None).results) == set(found)


@pytest.mark.slow
def test_agents_repeat_what_is_far_below_its_own_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = SimulatedPairs(tmp_path, {"n4": 375.0})
    monkeypatch.setattr(measure, "run_playbook", pairs.play)
    monkeypatch.setattr(burnin, "_today", lambda: TODAY)
    declared = gates(gates_settings={"rdma_pair": {"duration_s": 1, "timeout_s": 30, "base_port": 21500}})
    some = [
        replace(node(f"n{i}", rails=1, declared=declared, host=address_of(f"n{i}")), place=Place(leaf=f"leaf{i % 2}")) for i in range(1, 9)
    ]
    config = Config(tmp_path, (), tmp_path)
    rundirs = [RunDir.create(tmp_path, name) for name in ("first", "second")]
    first = run_burnin(subjects_of(some), rundirs[0], config, "standard", gates=["rdma_pair"])
    assert {r.outcome for r in first} == {Outcome.PASS}
    assert len(pairs.plays) == 1, "without a history nothing is repeated"
    usual = usual_values([PastResult(replace(r, best=392.0), f"r{i}", "") for i in range(5) for r in first if r.value is not None])
    found = run_burnin(subjects_of(some), rundirs[1], config, "standard", gates=["rdma_pair"], usual=usual)
    low = [r for r in found if r.outcome is not Outcome.PASS]
    assert [(r.node, r.outcome, r.reason) for r in low] == [("n4", Outcome.WARN, GateReason.BELOW_HISTORY)]
    assert "375 Gb/s is 4.3 % below its own average of the last 5 runs, 392 Gb/s, also when it was repeated" in low[0].detail
    assert len(pairs.plays) == 3
    assert "n4" in pairs.plays[2]
    assert set(judge_stored(rundirs[1].path, None).results) == set(found)
