from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.subject import subject_of
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome
from clusterctl.model.level import LEVELS
from support.gates import SOURCE, TODAY, gates, links_of_gpus, node, plan, record
from support.recorded import recorded

HOST, PEERS = "host_to_device_memcpy_ce", "device_to_device_memcpy_read_ce"
FLOORS = {HOST: 48.0, PEERS: 335.0}
BASELINES: list[dict[str, Any]] = [
    {"gate": "nvbandwidth", "metric": m, "kind": "floor", "value": v, "unit": "GB/s", **SOURCE} for m, v in FLOORS.items()
]
CEILING = {"gate": "nvbandwidth", "metric": HOST, "kind": "ceiling", "value": 64.0, "unit": "GB/s", **SOURCE}


def matrices(count: int = 8) -> dict[str, list[list[Any]]]:
    """Healthy matrices of `count` GPUs."""
    peers = [["N/A" if row == column else "395.2" for column in range(count)] for row in range(count)]
    return {HOST: [["55.3"] * count], PEERS: peers}


def output(cells: dict[str, list[list[Any]]], **more: Any) -> str:
    cases = [
        {
            "name": name,
            "status": "Passed",
            "bandwidth_description": "memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)",
            "bandwidth_matrix": m,
        }
        for name, m in cells.items()
    ]
    return json.dumps({"nvbandwidth": {"version": "v0.8", "testcases": cases, **more}})


def results(
    text: str, *, gpus: int = 8, judge_links: bool = True, model: str = "NVIDIA H100 80GB HBM3", **more: Any
) -> tuple[GateResult, ...]:
    declared = gates(
        gates_levels={level: ["nvbandwidth"] for level in LEVELS},
        gates_settings={"nvbandwidth": {"testcases": list(FLOORS), "pcie_links": judge_links}},
        gates_baselines=[*BASELINES, CEILING],
    )
    made = node("n1", gpus=gpus, declared=declared)
    hardware = {"hardware": {**made.spec.roles["hardware"], "hardware_gpu_model": model}}
    subject = subject_of(replace(made, spec=replace(made.spec, roles=hardware)), TODAY)
    more = {"links": links_of_gpus(gpus), **more}
    return judge([subject], [record("nvbandwidth", "n1", text, **more)], level="standard", gates=["nvbandwidth"])


def bad(text: str, **more: Any) -> list[GateResult]:
    return [r for r in results(text, **more) if r.outcome is not Outcome.PASS]


def test_a_healthy_node_passes_every_testcase() -> None:
    assert {(r.metric, r.outcome) for r in results(output(matrices()))} == {(m, Outcome.PASS) for m in (*FLOORS, "pcie_link")}


def _between(slow: set[tuple[int, int]]) -> str:
    return output({**matrices(), PEERS: [["N/A" if i == j else 200.0 if (i, j) in slow else 395.2 for j in range(8)] for i in range(8)]})


@pytest.mark.parametrize(
    ("slow", "named"),
    [
        ({(i, 6) for i in range(8)}, ["gpu6"]),
        ({(6, j) for j in range(8)}, ["gpu6"]),
        ({(i, 6) for i in range(8)} | {(6, j) for j in range(8)}, ["gpu6"]),
        ({(i, j) for i in range(8) for j in (2, 5)}, ["gpu2", "gpu5"]),
        ({(3, 6)}, ["gpu3"]),
    ],
)
def test_the_gpu_that_is_slow_with_all_others_is_named_and_not_these(slow: set[tuple[int, int]], named: list[str]) -> None:
    found = bad(_between(slow))
    assert [(r.device, r.outcome, r.value) for r in found] == [(gpu, Outcome.FAIL, 200.0) for gpu in named]


@pytest.mark.parametrize(
    ("metric", "row", "device"),
    [(HOST, [50.0 if gpu == 6 else 55.3 for gpu in range(8)], "gpu6"), (PEERS, [350.0 if gpu == 6 else 395.2 for gpu in range(8)], "")],
)
def test_a_gpu_above_the_floor_and_below_other_nodes_is_named_unless_the_number_is_of_two(
    metric: str, row: list[float], device: str
) -> None:
    cells = matrices()
    cells[metric] = [row] if metric == HOST else [["N/A" if i == j else value for j, value in enumerate(row)] for i in range(8)]
    declared = gates(
        gates_levels={level: ["nvbandwidth"] for level in LEVELS},
        gates_settings={"nvbandwidth": {"testcases": list(FLOORS), "pcie_links": False}},
        gates_baselines=BASELINES,
    )
    names = [f"n{i}" for i in range(1, 13)]
    runs = [record("nvbandwidth", name, output(cells if name == "n1" else matrices())) for name in names]
    found = judge([subject_of(node(name, declared=declared), TODAY) for name in names], runs, level="standard", gates=["nvbandwidth"])
    told = [(r.node, r.metric, r.device, r.outcome) for r in found if r.outcome is not Outcome.PASS]
    assert told == [("n1", metric, device, Outcome.FAIL)]


@pytest.mark.parametrize(("model", "said"), [("NVIDIA GH200 480GB", "nvidia-smi c2c -s"), ("NVIDIA H200", "reseat it")])
def test_a_gpu_on_one_board_with_its_processor_is_not_to_be_reseated(model: str, said: str) -> None:
    cells = matrices(4)
    cells[HOST] = [["55.3", "55.3", "20.1", "55.3"]]
    cells[PEERS][0][1] = "100.0"
    between, host = bad(output(cells), gpus=4, model=model)
    assert (host.metric, host.device, between.metric) == (HOST, "gpu2", PEERS)
    assert said in host.hint
    assert "reseat it" in between.hint


def test_a_link_that_trained_slower_fails_whatever_the_bandwidth() -> None:
    uplink = "0000:10:00.0"
    links = tuple(replace(h, speed_gts=16.0) if h.lower == uplink else h for h in links_of_gpus(8))
    (found,) = bad(output(matrices()), links=links)
    assert (found.outcome, found.reason, found.expected, found.found) == (
        Outcome.FAIL,
        GateReason.LINK_DOWNTRAINED,
        ">= 32 GT/s",
        "16 GT/s",
    )
    assert uplink in found.hint


def test_a_record_without_links_is_no_evidence_unless_the_profile_wants_none() -> None:
    assert [(r.metric, r.outcome) for r in bad(output(matrices()), links=())] == [("pcie_link", Outcome.COULD_NOT_RUN)]
    assert bad(output(matrices()), links=(), judge_links=False) == []


def test_the_step_samples_the_links_of_the_gpus() -> None:
    one = node("n1", declared=gates(gates_levels={level: ["nvbandwidth"] for level in LEVELS}, gates_baselines=[*BASELINES]))
    (step,) = (s for s in plan([one], ["nvbandwidth"]).steps["n1"] if s.gate == "nvbandwidth")
    assert re.match(step.links_of, "0x10de 0x030200")
    assert not re.match(step.links_of, "0x15b3 0x020700")


def test_a_recorded_node_of_eight_gpus_is_complete() -> None:
    text = recorded("nvbandwidth/sparecores-gcp-a3-highgpu-8g.json").read_text()
    assert not [r for r in results(text) if r.outcome is Outcome.COULD_NOT_RUN]


def test_one_of_eight_gpus_is_no_node() -> None:
    found = {r.metric: r for r in results(output(matrices(1)), judge_links=False)}
    assert {r.outcome for r in found.values()} == {Outcome.COULD_NOT_RUN}
    assert found[HOST].detail == f"testcase {HOST} has no number for gpu1, gpu2, gpu3, gpu4 and 3 more"


@pytest.mark.parametrize("cell", ["N/A", "nan", float("nan"), "", None, "inf"])
def test_a_cell_without_a_number_is_missing_evidence(cell: Any) -> None:
    cells = matrices()
    cells[HOST][0][3] = cell
    cells[PEERS][2][5] = cell
    found = bad(output(cells))
    assert [(r.metric, r.device, r.outcome) for r in found] == [
        (PEERS, "gpu2", Outcome.COULD_NOT_RUN),
        (HOST, "gpu3", Outcome.COULD_NOT_RUN),
    ]
    assert found[0].detail == f"testcase {PEERS} has no number for gpu2 to gpu5"


def test_a_slow_gpu_fails_even_if_another_is_missing() -> None:
    cells = matrices()
    cells[HOST][0][3], cells[HOST][0][5] = "12.1", "N/A"
    assert {(r.device, r.outcome) for r in bad(output(cells))} == {("gpu3", Outcome.FAIL), ("gpu5", Outcome.COULD_NOT_RUN)}


def test_more_than_the_link_carries_is_a_measuring_error() -> None:
    cells = matrices()
    cells[HOST][0][0] = "99999999"
    assert [(r.outcome, r.reason) for r in bad(output(cells))] == [(Outcome.COULD_NOT_RUN, GateReason.ABOVE_CEILING)]


@pytest.mark.parametrize(
    ("hardware", "floors", "outcome"),
    [
        ({"hardware_gpu_nvlinks": 0}, [], Outcome.NOT_APPLICABLE),
        ({"hardware_gpu_nvlinks": 0}, [BASELINES[1]], Outcome.COULD_NOT_RUN),
        ({"hardware_gpu_nvlinks": 18}, [], Outcome.COULD_NOT_RUN),
        ({}, [], Outcome.COULD_NOT_RUN),
    ],
)
def test_gpus_without_nvlink_may_have_no_access_to_each_other(hardware: dict[str, Any], floors: list[Any], outcome: Outcome) -> None:
    """The recorded node has eight L40S: nvbandwidth waives every copy between them."""
    declared = gates(
        gates_levels={level: ["nvbandwidth"] for level in LEVELS},
        gates_settings={"nvbandwidth": {"testcases": [HOST, PEERS], "pcie_links": False}},
        gates_baselines=[{**BASELINES[0], "value": 12.0}, *floors],
    )
    subject = subject_of(node("n1", declared=declared, **hardware), TODAY)
    text = recorded("nvbandwidth/sparecores-aws-g6e.48xlarge.json").read_text()
    found = judge([subject], [record("nvbandwidth", "n1", text)], level="standard", gates=["nvbandwidth"])
    assert {r.outcome for r in found if r.metric == HOST} == {Outcome.PASS}
    assert [(r.outcome, r.found) for r in found if r.metric == PEERS] == [(outcome, "Waived")]


def test_a_testcase_that_is_absent_or_waived_is_missing_evidence() -> None:
    assert {r.metric for r in bad(output({HOST: matrices()[HOST]}))} == {PEERS}
    data = json.loads(output(matrices()))
    data["nvbandwidth"]["testcases"][1]["status"] = "Waived"
    assert [r.detail for r in bad(json.dumps(data))] == [f"testcase {PEERS} is Waived"]


@pytest.mark.parametrize(
    ("error", "outcome", "reason"),
    [
        ("ASSERT in expression h_errorFlag == 0 in memcmpPattern() : memcpy.cpp:160", Outcome.FAIL, GateReason.WRONG_RESULTS),
        ("[CUDA_ERROR_ECC_UNCORRECTABLE] uncorrectable ECC error encountered in expression x", Outcome.FAIL, GateReason.TEST_FAILED),
        (
            "[CUDA_ERROR_SYSTEM_NOT_READY] system not yet initialized in expression cuInit(0)",
            Outcome.COULD_NOT_RUN,
            GateReason.FABRIC_NOT_READY,
        ),
        ("[CUDA_ERROR_INVALID_VALUE] invalid argument in expression cuCtxCreate", Outcome.COULD_NOT_RUN, GateReason.TOOL_FAILED),
    ],
)
def test_only_a_failed_comparison_is_about_the_data(error: str, outcome: Outcome, reason: GateReason) -> None:
    whole = results(output({}, error=error), exit_status=1)
    assert [(r.outcome, r.reason) for r in whole] == [(outcome, reason)]
    assert whole[0].hint
    data = json.loads(output(matrices()))
    data["nvbandwidth"]["testcases"][0] = {"name": HOST, "status": "Error", "error": error}
    assert [(r.outcome, r.reason) for r in results(json.dumps(data), exit_status=1)] == [(outcome, reason)]


def test_the_recorded_error_of_an_old_gpu_is_no_wrong_result() -> None:
    text = recorded("nvbandwidth/sparecores-aws-g3.16xlarge.json").read_text()
    assert [(r.outcome, r.reason) for r in results(text, exit_status=1)] == [(Outcome.COULD_NOT_RUN, GateReason.TOOL_FAILED)]
