"""A device against its own earlier runs: repeated once, and a warning where the repeat agrees."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.judging.own_history import usual_values, with_repeats
from clusterctl.core.gates.planning.gate_plan import plan_again
from clusterctl.core.gates.subject import subject_of
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome
from clusterctl.model.level import LEVELS
from clusterctl.model.own_history import HistoryKey, PastResult
from clusterctl.model.part import Part, PartRow
from clusterctl_tools.ubergemm import load_argv
from support.gates import CASES, TODAY, gates, link, meeting, nccl, node, record
from support.plain_yaml import load_yaml
from support.traced_loads import traced

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import RawRecord

ALL_CASES: dict[str, Any] = load_yaml((CASES / "own_history" / "cases.yml").read_text(encoding="utf-8"))
WORST_FIRST = (Outcome.FAIL, Outcome.WARN, Outcome.PASS)
N1 = subject_of(node("n1"), TODAY)


def one(value: float, step: str = "solo", name: str = "n1") -> RawRecord:
    return record("nccl_node", name, nccl(value), step=step, tool_version="2.17.6")


def busbw(records: Sequence[RawRecord], usual: dict[HistoryKey, float] | None = None) -> list[GateResult]:
    subjects = [subject_of(node(n), TODAY) for n in sorted({r.node for r in records})]
    found = judge(subjects, records, level="standard", gates=["nccl_node"], usual=usual)
    return [r for r in found if r.metric == "busbw"]


def past_of(values: Sequence[float], name: str = "n1") -> list[PastResult]:
    """What the judgement of one run after the other left in the store."""
    return [PastResult(r, f"r{i}", f"2026-01-{i + 1:02}") for i, value in enumerate(values) for r in busbw([one(value, name=name)])]


@pytest.mark.parametrize("name", ALL_CASES)
def test_a_node_against_its_own_runs(name: str) -> None:
    case = ALL_CASES[name]
    usual = usual_values(past_of(case["before"]))
    assert list(usual.values()) == ([pytest.approx(case["usual"], abs=0.05)] if case["usual"] else [])
    records = [one(case["first"]), *([one(case["again"], "again")] if "again" in case else [])]
    worst = min(busbw(records, usual), key=lambda r: WORST_FIRST.index(r.outcome))
    assert worst.outcome.value == case["outcome"]
    assert case.get("detail", "") in worst.detail
    assert case["outcome"] != "warn" or worst.reason is GateReason(case.get("reason", "below_history"))
    planned = plan_again([N1], records[:1], "standard", ["nccl_node"], seed="r", usual=usual)
    is_repeated = case["outcome"] != "pass" or "again" in case
    assert [s.name for s in planned.steps["n1"]] == (["again"] if is_repeated else [])


def test_a_repeat_that_could_not_run_is_no_pass() -> None:
    usual = usual_values(past_of([480] * 5))
    lost = record("nccl_node", "n1", "", step="again", exit_status=None, error="timed out after 60 s", error_code=GateReason.TIMED_OUT)
    found = judge([N1], [one(464), lost], level="standard", gates=["nccl_node"], usual=usual)
    assert {(r.outcome, r.reason) for r in found if r.outcome is not Outcome.PASS} == {
        (Outcome.COULD_NOT_RUN, GateReason.TIMED_OUT),
        (Outcome.WARN, GateReason.BELOW_HISTORY),
    }


def test_wrong_results_of_a_repeat_fail_whatever_came_before() -> None:
    wrong = record("nccl_node", "n1", nccl(479, wrong="3", closing="1 FAILED"), step="again", tool_version="2.17.6")
    found = judge([N1], [one(464), wrong], level="standard", gates=["nccl_node"], usual=usual_values(past_of([480] * 5)))
    assert GateReason.WRONG_RESULTS in {r.reason for r in found if r.outcome is Outcome.FAIL}


def test_other_versions_machines_and_simulated_values_are_another_history() -> None:
    past = past_of([480] * 5)
    records = [one(464)]
    for changed in ({"tool_version": "2.13.8"}, {"simulated": True}, {"node": "n2"}):
        usual = usual_values([replace(p, result=replace(p.result, **changed)) for p in past])
        assert [r.outcome for r in busbw(records, usual)] == [Outcome.PASS]


def part(kind: str, name: str, serial: str, *, seen: str, run: str = "r9", ended: str = "") -> PartRow:
    return PartRow("n1", Part(kind, "0000:18:00.0", name, "", serial), run, seen, seen, ended)


@pytest.mark.parametrize(
    ("kind", "name", "device", "ends"),
    [
        ("nic", "mlx5_0", "mlx5_0", True),
        ("nic", "mlx5_1", "mlx5_0", False),
        ("gpu", "GPU 3", "", True),
        ("nvme", "nvme6 (nvme10n1)", "nvme10n1", True),
        ("nvme", "nvme6 (nvme10n1)", "nvme6", True),
        ("nvme", "nvme6 (nvme10n1)", "nvme6n1", False),
        ("dimm", "DIMM_A1", "mlx5_0", True),
        ("system", "", "mlx5_0", True),
    ],
)
def test_a_part_in_the_place_of_another_one_begins_a_new_history(kind: str, name: str, device: str, *, ends: bool) -> None:
    result = GateResult(
        "rdma_pair" if device else "nccl_node",
        "n1",
        Outcome.PASS,
        "floor",
        "x",
        device=device,
        peers=("n2",) if device else (),
        value=480.0,
    )
    past = [PastResult(result, f"r{i}", f"2026-01-{i + 1:02}") for i in range(5)]
    before, after = part(kind, name, "A", seen="2025-01-01", ended="r9"), part(kind, name, "B", seen="2026-01-03T12")
    assert len(usual_values(past, [after])) == 1
    assert len(usual_values(past, [before, after])) == (0 if ends else 1)
    of_that_run = [replace(p, run_id=f"r{i}") if i != 2 else replace(p, run_id="r9") for i, p in enumerate(past)]
    more = [PastResult(result, f"s{i}", f"2026-02-{i + 1:02}") for i in range(2)]
    assert len(usual_values([*of_that_run, *more], [before, after])) == 1


def test_several_results_of_a_run_are_one_value() -> None:
    result = GateResult("nccl_node", "n1", Outcome.PASS, "floor", "busbw", value=480.0, unit="GB/s")
    twice = [PastResult(replace(result, value=v), f"r{i // 2}", "2026") for i, v in enumerate([480.0, 470.0] * 5)]
    assert list(usual_values(twice).values()) == [pytest.approx(470.0)]
    assert usual_values(twice[:8]) == {}


def pair_records(names: Sequence[str], slow: str, gbps: float) -> list[RawRecord]:
    rounds = [(a, b, i) for i, step in enumerate((1, 3)) for a, b in zip(names, [*names[step:], *names[:step]], strict=True)]
    return [r for a, b, i in rounds for r in meeting(a, b, 0, i, gbps if slow in (a, b) else 392.0)]


def again_with(partner: str, number: int, gbps: float) -> list[RawRecord]:
    """n3 and a proven partner in the second stage; the server of the first turn is the suspect."""
    both = [*link(partner, "n3", 0, number, gbps), *link("n3", partner, 0, number, gbps, turn=2)]
    return [replace(r, step=r.step.replace("round", "again")) for r in both]


@pytest.mark.parametrize(
    ("again", "outcome"), [((378.5, 379.0), Outcome.WARN), ((379.0, 391.0), Outcome.PASS), ((350.0, 351.0), Outcome.FAIL)]
)
def test_an_hca_is_repeated_with_two_partners(again: tuple[float, float], outcome: Outcome) -> None:
    names = [f"n{i}" for i in range(1, 10)]
    subjects = [subject_of(node(n, rails=1), TODAY) for n in names]
    records = pair_records(names, "n3", 378.0)

    def judged(more: Sequence[RawRecord], usual: dict[HistoryKey, float]) -> list[GateResult]:
        return list(judge(subjects, [*records, *more], level="standard", gates=["rdma_pair"], usual=usual))

    past = [PastResult(replace(r, value=391.0, best=391.0), f"r{i}", "2025") for i in range(5) for r in judged([], {}) if r.node == "n3"]
    usual = usual_values(past)
    planned = plan_again(subjects, records, "standard", ["rdma_pair"], seed="r", usual=usual)
    partners = {s.peer for s in planned.steps["n3"]}
    assert len(partners) == 2
    assert all(s.name.startswith("again") for s in planned.steps["n3"])
    more = [r for i, (partner, gbps) in enumerate(zip(sorted(partners), again, strict=True), 3) for r in again_with(partner, i, gbps)]
    found = {r.node: r for r in judged(more, usual)}
    assert found["n3"].outcome is outcome
    assert {r.outcome for n, r in found.items() if n != "n3"} == {Outcome.PASS}
    assert ("379 Gb/s is 3.1 % below its own average of the last 5 runs, 391 Gb/s, also when it was repeated" in found["n3"].detail) is (
        outcome is Outcome.WARN
    )


def test_nothing_is_repeated_without_a_history() -> None:
    subjects: list[Subject] = [subject_of(node(f"n{i}", rails=1), TODAY) for i in range(1, 10)]
    records = [*pair_records([s.name for s in subjects], "n3", 378.0), *(one(464, name=s.name) for s in subjects)]
    assert plan_again(subjects, records, "standard", ["nccl_node", "rdma_pair"], seed="r").busy == ()


VALUES = st.floats(461, 899)


@given(st.lists(VALUES, min_size=5, max_size=12), VALUES, VALUES)
def test_history_never_fails_a_node_and_a_repeat_never_makes_it_worse(before: list[float], first: float, again: float) -> None:
    past = [PastResult(r, f"r{i}", f"{i:03}") for i, value in enumerate(before) for r in busbw([one(round(value, 2))])]
    usual = usual_values(past)
    (average,) = usual.values()
    assert min(before[-5:]) - 0.01 <= average <= max(before[-5:]) + 0.01
    (alone,) = busbw([one(first)], usual)
    (repeated,) = busbw([one(first), one(again, "again")], usual)
    assert {alone.outcome, repeated.outcome} <= {Outcome.PASS, Outcome.WARN}
    if alone.outcome is Outcome.PASS:
        assert repeated.outcome is Outcome.PASS


def test_the_better_of_two_passes_counts() -> None:
    low, high = (GateResult("nccl_node", "n1", Outcome.PASS, "floor", "busbw", value=v) for v in (464.0, 479.0))
    assert [r.value for r in with_repeats([low], [high])] == [479.0]
    assert with_repeats([high], [low]) == (high,)
    warned = replace(low, outcome=Outcome.WARN, rule="link")
    assert [(r.value, r.outcome) for r in with_repeats([low], [high, warned])] == [(479.0, Outcome.PASS), (464.0, Outcome.WARN)]


def under_load(rate_gflops: float) -> list[RawRecord]:
    """Eight GPUs that are alike: no peer shows that all of them got slower."""
    printed = f"GFlops:{rate_gflops:.5e} GFlops\nstarting....\nGFlops:{rate_gflops:.5e} GFlops\n"
    loads = [
        record(
            "gpu_stress", "n1", printed, step=f"gpu{i}", device=f"gpu{i}", tool="ubergemm", argv=tuple(load_argv(i, 90)), duration_s=97.0
        )
        for i in range(8)
    ]
    return [*loads, replace(traced({"gpus": 8}), argv=("sleep", "90"), simulated=loads[0].simulated)]


def test_gpus_without_a_floor_have_a_history_of_their_rate_per_clock() -> None:
    declared = gates(gates_levels={level: ["gpu_stress"] for level in LEVELS}, gates_baselines=[])
    tray = subject_of(node("n1", gpus=8, declared=declared), TODAY)

    def measured(rate_gflops: float, usual: dict[HistoryKey, float] | None = None) -> list[GateResult]:
        found = judge([tray], under_load(rate_gflops), level="standard", gates=["gpu_stress"], usual=usual)
        return [r for r in found if r.metric == "gemm_per_clock"]

    past = [PastResult(r, f"r{i}", f"2026-01-{i + 1:02}") for i in range(5) for r in measured(1_745_000)]
    (low,) = measured(1_660_000, usual_values(past))
    assert (low.outcome, low.rule, low.reason) == (Outcome.WARN, "history", GateReason.BELOW_HISTORY)
    assert [r.outcome for r in measured(1_730_000, usual_values(past))] == [Outcome.PASS]
