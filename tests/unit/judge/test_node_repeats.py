"""Gates of one node whose figures are too low: measured once more in the same burn-in, and a failure where both measurements say so."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.judging.two_of_two import of_device_or_figure, two_of_two
from clusterctl.core.gates.planning.gate_plan import plan_again
from clusterctl.core.gates.subject import subject_of
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome
from clusterctl.model.level import LEVELS
from support.gates import CASES, NODE_FLOOR, SOURCE, TODAY, gates, nccl, node, record
from support.plain_yaml import load_yaml

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import RawRecord

HOST, BACK = "host_to_device_memcpy_ce", "device_to_host_memcpy_ce"
FLOOR_GBS = 460.0
HOST_FLOOR = {"gate": "nvbandwidth", "metric": HOST, "kind": "floor", "value": 48.0, "unit": "GB/s", **SOURCE}
REPEATED_CASES: list[dict[str, Any]] = load_yaml((CASES / "node_repeats" / "cases.yml").read_text(encoding="utf-8"))
LOST = {"exit_status": None, "error": "timed out after 60 s", "error_code": GateReason.TIMED_OUT}


def subject(name: str = "n1") -> Subject:
    declared = gates(
        gates_levels={level: ["nccl_node", "nvbandwidth"] for level in LEVELS},
        gates_settings={"nvbandwidth": {"testcases": [HOST], "pcie_links": False}},
        gates_baselines=[NODE_FLOOR, HOST_FLOOR],
    )
    return subject_of(node(name, declared=declared, gpus=8), TODAY)


def output(gate: str, value: Any) -> str:
    if gate == "nccl_node":
        return nccl(value)
    cells = [str((value or {}).get(gpu, 55.3)) for gpu in range(8)]
    case = {"name": HOST, "status": "Passed", "bandwidth_description": "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)"}
    return json.dumps({"nvbandwidth": {"version": "v0.8", "testcases": [{**case, "bandwidth_matrix": [cells]}]}})


def measured(gate: str, value: Any, step: str = "solo", name: str = "n1", **more: Any) -> RawRecord:
    if value is None:
        return record(gate, name, "", step=step, tool_version="1", **LOST)
    return record(gate, name, output(gate, value), step=step, tool_version="1", **more)


def bad(subjects: Sequence[Subject], records: Sequence[RawRecord], gate: str) -> list[GateResult]:
    return [r for r in judge(subjects, records, level="standard", gates=[gate]) if r.outcome is not Outcome.PASS]


def planned(subjects: Sequence[Subject], records: Sequence[RawRecord], gate: str) -> Mapping[str, list[str]]:
    plan = plan_again(subjects, records, "standard", [gate], seed="r")
    return {name: [step.name for step in steps] for name, steps in plan.steps.items() if steps}


@pytest.mark.parametrize("case", REPEATED_CASES, ids=lambda c: c["name"])
def test_a_figure_fails_where_both_measurements_say_so(case: dict[str, Any]) -> None:
    gate = case["gate"]
    first = measured(gate, case["first"])
    assert planned([subject()], [first], gate) == {"n1": ["again"]}
    found = bad([subject()], [first, measured(gate, case["again"], "again")], gate)
    places = {
        outcome: sorted(f"{r.metric} {r.device}".strip() for r in found if r.outcome is outcome) for outcome in (Outcome.FAIL, Outcome.WARN)
    }
    assert places == {Outcome.FAIL: case.get("fails", []), Outcome.WARN: case.get("warns", [])}
    assert [r.reason for r in found if r.outcome is Outcome.COULD_NOT_RUN] == [GateReason(word) for word in case.get("more", [])]
    assert any(case.get("detail", "") in r.detail for r in found)
    assert all(r.hint for r in found)


@pytest.mark.parametrize(
    "first",
    [
        measured("nccl_node", 479),
        measured("nccl_node", None),
        record("nccl_node", "n1", nccl(400, wrong="3", closing="1 FAILED"), tool_version="1"),
        record("nccl_node", "n1", nccl(400, via="NET/Socket/0"), tool_version="1"),
    ],
    ids=["what passes", "what has no figure", "wrong results", "another transport"],
)
def test_what_is_no_low_figure_is_not_repeated(first: RawRecord) -> None:
    assert planned([subject()], [first], "nccl_node") == {}


def test_a_node_far_below_its_peers_is_repeated_among_their_first_figures() -> None:
    names = [f"n{i}" for i in range(1, 13)]
    subjects = [subject(name) for name in names]
    first = [measured("nccl_node", 480 if name != "n7" else 461 - 20, name=name) for name in names]
    above = [measured("nccl_node", 600 if name != "n7" else 500, name=name) for name in names]
    assert planned(subjects, first, "nccl_node") == planned(subjects, above, "nccl_node") == {"n7": ["again"]}
    low, fine = (bad(subjects, [*above, measured("nccl_node", value, "again", "n7")], "nccl_node") for value in (510, 599))
    assert [(r.node, r.outcome, r.reason) for r in low] == [("n7", Outcome.FAIL, GateReason.BELOW_PEERS)]
    assert [(r.node, r.outcome, r.reason) for r in fine] == [("n7", Outcome.WARN, GateReason.BELOW_PEERS)]
    assert "500 GB/s at first, 599 GB/s when it was repeated" in fine[0].detail


def test_a_partner_is_not_judged_and_so_not_repeated() -> None:
    both = [subject("n1"), replace(subject("n2"), partner=True)]
    first = [measured("nccl_node", 400, name=name) for name in ("n1", "n2")]
    assert planned(both, first, "nccl_node") == {"n1": ["again"]}


def test_a_node_that_is_repeated_stays_among_the_peers_of_the_others() -> None:
    names = [f"n{i}" for i in range(1, 11)]
    subjects = [subject(name) for name in names]
    values = {"n7": 500, "n3": 570}
    first = [measured("nccl_node", values.get(name, 600), name=name) for name in names]
    for again in (505, 599):
        found = {r.node: r.outcome for r in bad(subjects, [*first, measured("nccl_node", again, "again", "n7")], "nccl_node")}
        assert found == {"n3": Outcome.WARN, "n7": Outcome.FAIL if again == 505 else Outcome.WARN}


def host_copies(to_gpus: float, from_gpus: float, step: str = "solo") -> RawRecord:
    cells = {HOST: to_gpus, BACK: from_gpus}
    description = {"bandwidth_description": "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)"}
    cases = [{"name": n, "status": "Passed", **description, "bandwidth_matrix": [[str(v)] * 8]} for n, v in cells.items()]
    return record("nvbandwidth", "n1", json.dumps({"nvbandwidth": {"version": "v0.8", "testcases": cases}}), step=step, tool_version="1")


def test_a_figure_that_passes_has_the_better_value_of_both_measurements() -> None:
    declared = gates(
        gates_levels={level: ["nvbandwidth"] for level in LEVELS},
        gates_settings={"nvbandwidth": {"testcases": [HOST, BACK], "pcie_links": False}},
        gates_baselines=[HOST_FLOOR, {**HOST_FLOOR, "metric": BACK}],
    )
    both = subject_of(node("n1", declared=declared, gpus=8), TODAY)
    records = [host_copies(31, 52), host_copies(55.3, 55.2, "again")]
    found = {r.metric: r for r in judge([both], records, level="standard", gates=["nvbandwidth"])}
    assert (found[HOST].outcome, found[BACK].outcome, found[BACK].value) == (Outcome.WARN, Outcome.PASS, 55.2)
    assert "52 GB/s at first" in found[BACK].detail


def test_two_sizes_of_one_metric_are_two_figures() -> None:
    results = [
        GateResult("nccl_node", "n1", Outcome.FAIL, "floor", "busbw", reason=GateReason.BELOW_FLOOR, size_bytes=size) for size in (8, 80)
    ]
    place_of = of_device_or_figure(results[:1], results[1:])
    found = list(
        two_of_two(results[:1], results[1:], at_first={place_of(results[0]): "1"}, repeated={place_of(results[0]): "3"}, place_of=place_of)
    )
    assert [(r.size_bytes, r.outcome) for r in found] == [(8, Outcome.WARN), (80, Outcome.WARN)]


def test_wrong_results_of_a_repeat_fail_at_once() -> None:
    wrong = record("nccl_node", "n1", nccl(479, wrong="3", closing="1 FAILED"), step="again", tool_version="1")
    found = bad([subject()], [measured("nccl_node", 400), wrong], "nccl_node")
    assert GateReason.WRONG_RESULTS in {r.reason for r in found if r.outcome is Outcome.FAIL}


@given(st.floats(300, 600), st.floats(300, 600))
def test_a_node_fails_exactly_where_it_is_low_twice(first: float, again: float) -> None:
    first, again = round(first, 1), round(again, 1)
    low, low_again = first < FLOOR_GBS, again < FLOOR_GBS
    records = [measured("nccl_node", first), *([measured("nccl_node", again, "again")] if low else [])]
    outcomes = {r.outcome for r in bad([subject()], records, "nccl_node")}
    assert outcomes == ({Outcome.FAIL} if low and low_again else {Outcome.WARN} if low else set())
