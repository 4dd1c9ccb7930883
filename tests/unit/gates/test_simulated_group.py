"""`nccl_group` from plan to verdict: real agents on loopback addresses start the ranks of the simulated MPI."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.adapters.config import Config
from clusterctl.adapters.run_directory import RunDir
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome
from clusterctl.model.node import Place
from clusterctl.workflows.burnin import measure
from clusterctl.workflows.burnin import measure_and_judge as burnin
from clusterctl.workflows.burnin.measure_and_judge import run_burnin, subjects_of
from support.agents import address_of
from support.gates import GROUP_FLOOR, NODE_FLOOR, RDMA_FLOOR, TODAY, gates, node
from support.simulated_group import SimulatedGroup

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from clusterctl.model.node import Node

Run = tuple[SimulatedGroup, "Sequence[GateResult]"]


def members(count: int, per_rack: int = 0, **settings: Any) -> tuple[Node, ...]:
    floor = {**GROUP_FLOOR, "value": 300.0}
    declared = gates(
        gates_settings={"nccl_group": {"timeout_s": 60, "peer_wait_s": 60, "variants": {}, **settings}},
        gates_baselines=[RDMA_FLOOR, NODE_FLOOR, floor],
    )
    made = [node(f"n{i}", rails=8, declared=declared, host=address_of(f"n{i}")) for i in range(1, count + 1)]
    return tuple(replace(n, place=Place(rack=f"r{i // per_rack}")) if per_rack else n for i, n in enumerate(made))


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


def test_a_ladder_names_the_one_node_that_is_off_gpudirect_and_proves_all_others(run: Callable[..., Run]) -> None:
    """32 nodes in four racks: the rack of the bad one is spoiled, and the last rung runs over the 31 others."""
    group, found = run(32, {"n19": {"gdr": False}}, per_rack=8, timeout_s=200)
    bad = [r for r in found if r.outcome is not Outcome.PASS]
    assert [(r.node, r.outcome, r.reason) for r in bad] == [("n19", Outcome.FAIL, GateReason.WRONG_TRANSPORT)]
    assert "without GPUDirect RDMA" in bad[0].detail
    assert {r.node for r in found} == {f"n{i}" for i in range(1, 33)}
    assert group.plays == 3
    launched = [r for own in group.records.values() for r in own if r.peers]
    assert sorted((r.step, len(r.peers)) for r in launched) == [("group", 31), *[("group.rack", 8)] * 4]


def test_a_node_without_the_program_keeps_the_group_from_running(run: Callable[..., Run]) -> None:
    _, found = run(2, {"n2": {"tests": ""}})
    assert {(r.outcome, r.reason) for r in found} == {(Outcome.COULD_NOT_RUN, GateReason.EXIT_STATUS)}


def test_a_ring_without_nvls_is_a_run_of_its_own(run: Callable[..., Run]) -> None:
    """Its logs are apart from those of the plain run; without a floor it proves its transport."""
    ring = {"ring": {"environment": {"NCCL_NVLS_ENABLE": "0", "NCCL_ALGO": "Ring"}}}
    group, found = run(2, {}, variants=ring)
    assert {(r.node, r.outcome) for r in found} == {("n1", Outcome.PASS), ("n2", Outcome.PASS)}
    launched = {r.step: r for r in group.records["n1"] if r.peers}
    assert set(launched) == {"group", "group@ring"}
    words = launched["group@ring"].argv
    assert {"NCCL_NVLS_ENABLE=0", "NCCL_ALGO=Ring", "NCCL_DEBUG_FILE=nccl_rank-ring.%h.%p.log"} <= set(words)
    assert "NCCL_ALGO=Ring" not in launched["group"].argv
    assert {r.step for r in group.records["n2"]} == {"member", "ranks", "member@ring", "ranks@ring"}
    assert any(r.detail == "2 nodes together (ring)" for r in found)


def test_pairs_are_the_first_rung_and_three_are_measured_together_where_one_is_left(run: Callable[..., Run]) -> None:
    group, found = run(5, {}, rungs=["pair", "all"])
    assert {r.outcome for r in found} == {Outcome.PASS}
    launched = {(r.step, r.peers) for own in group.records.values() for r in own if r.peers}
    assert launched == {
        ("group.pair", ("n1", "n2")),
        ("group.pair", ("n3", "n4", "n5")),
        ("group", ("n1", "n2", "n3", "n4", "n5")),
    }


def test_a_slow_node_is_found_by_halves_and_the_others_are_proved_without_it(run: Callable[..., Run]) -> None:
    group, found = run(8, {"n6": {"nccl_factor": 0.5}}, timeout_s=100)
    bad = [r for r in found if r.outcome is not Outcome.PASS]
    assert [(r.node, r.outcome, r.reason) for r in bad] == [("n6", Outcome.FAIL, GateReason.BELOW_FLOOR)]
    assert "bad in every group that it was in" in bad[0].detail
    assert bad[0].hint
    assert {r.node for r in found if r.outcome is Outcome.PASS} == {f"n{i}" for i in range(1, 9)} - {"n6"}
    launched = {(r.step, len(r.peers)) for own in group.records.values() for r in own if r.peers}
    assert launched == {
        ("group", 8), ("group.all-search1", 8), ("group.all-search2", 4), ("group.all-search3", 2), ("group.all-search4", 2), ("group.rest", 7)
    }  # fmt: skip


def test_two_slow_nodes_of_a_rack_are_found_before_the_next_rung(run: Callable[..., Run]) -> None:
    slow = {"n2": {"nccl_factor": 0.5}, "n7": {"nccl_factor": 0.6}}
    group, found = run(8, slow, per_rack=4, timeout_s=100)
    assert [(r.node, r.reason) for r in found if r.outcome is not Outcome.PASS] == [
        ("n2", GateReason.BELOW_FLOOR),
        ("n7", GateReason.BELOW_FLOOR),
    ]
    assert {r.node for r in found} == {f"n{i}" for i in range(1, 9)}
    launched = {(r.step, len(r.peers)) for own in group.records.values() for r in own if r.peers}
    assert ("group", 6) in launched
    assert not [step for step, _ in launched if step == "group.rest"]


def test_a_node_with_which_nccl_hangs_is_found_by_halves(run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clusterctl.core.gates.nccl_group._START_S", 10)
    group, found = run(4, {"n3": {"hangs": True}}, timeout_s=10, slowdown=1, size_bytes=1 << 31)
    bad = [r for r in found if r.outcome is not Outcome.PASS]
    assert [(r.node, r.outcome, r.reason) for r in bad] == [("n3", Outcome.COULD_NOT_RUN, GateReason.TIMED_OUT)]
    assert "bad in every group that it was in" in bad[0].detail
    launched = {(r.step, len(r.peers)) for own in group.records.values() for r in own if r.peers}
    assert launched == {("group", 4), ("group.all-search1", 4), ("group.all-search2", 2), ("group.all-search3", 2), ("group.rest", 3)}


def test_where_all_are_slow_nobody_is_named(run: Callable[..., Run]) -> None:
    _, found = run(4, {f"n{i}": {"nccl_factor": 0.5} for i in range(1, 5)}, timeout_s=100)
    assert {(r.outcome, r.reason) for r in found if r.outcome is not Outcome.PASS} == {(Outcome.COULD_NOT_RUN, GateReason.BELOW_FLOOR)}


def test_without_search_a_bad_group_names_nobody(run: Callable[..., Run]) -> None:
    group, found = run(4, {"n3": {"nccl_factor": 0.5}}, search=False)
    assert {(r.outcome, r.reason) for r in found if r.outcome is not Outcome.PASS} == {(Outcome.COULD_NOT_RUN, GateReason.BELOW_FLOOR)}
    assert {r.step for own in group.records.values() for r in own if r.peers} == {"group"}


def test_a_node_that_its_log_names_on_the_last_rung_spoils_nobody(run: Callable[..., Run]) -> None:
    group, found = run(3, {"n2": {"gdr": False}}, timeout_s=100)
    assert [(r.node, r.reason) for r in found if r.outcome is not Outcome.PASS] == [("n2", GateReason.WRONG_TRANSPORT)]
    assert {(r.step, r.peers) for own in group.records.values() for r in own if r.peers} == {
        ("group", ("n1", "n2", "n3")),
        ("group.rest", ("n1", "n3")),
    }
