"""torch_gemm: one wrong bit fails the GPU, also one that is wrong in the same way each time; and what must not count."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.subject import subject_of
from clusterctl.core.gates.torch_gemm import GATE, TorchGemmSettings
from clusterctl.core.parsers import UnparsableError, parse_output
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome, RawRecord
from clusterctl.model.level import LEVELS
from clusterctl.model.trace_sample import TraceSample
from clusterctl_tools import torch_gemm
from support.gates import CASES, REPAIR, SOURCE, TODAY, gates, node, plan, record
from support.plain_yaml import load_yaml
from support.roles import ROOT
from support.torch_gemm import torch_output

EXAMPLES = load_yaml((CASES / "judge_torch_gemm" / "cases.yml").read_text(encoding="utf-8"))
FLOOR = {"gate": "torch_gemm", "metric": "gemm", "kind": "floor", "value": 600.0, "unit": "TFLOPS", **SOURCE}
SILENT = (Outcome.PASS, Outcome.NOT_APPLICABLE)
SCRIPT = ROOT / "roles" / "burnin" / "files" / torch_gemm.PROGRAM
ASKED_S = 90


def records(name: str, case: dict[str, Any]) -> list[RawRecord]:
    found = []
    for gpu in range(case["gpus"]):
        own = {**case.get("all", {}), **case.get("other", {}).get(gpu, {})} if name == "n1" else {}
        if own.get("absent"):
            continue
        load = record("torch_gemm", name, torch_output(**own), step=f"gpu{gpu}", device=f"gpu{gpu}", tool="torch_gemm")
        argv = tuple(torch_gemm.gemm_argv(gpu, ASKED_S))
        found.append(replace(load, argv=argv, duration_s=float(own.get("ran_s", ASKED_S + 12)), exit_status=own.get("exit_status", 0)))
    rows = (f"{gpu}, 00000000:{gpu + 16:02X}:00.0, 1350, 696.00, 700.00, 66, 19, 55, 0x0000000000000004" for gpu in range(case["gpus"]))
    text = "\n".join(rows) + "\n"
    trace = tuple(TraceSample(5.0 * i, 0.2, 0, text) for i in range(20))
    return [*found, record("torch_gemm", name, "", step="trace", tool="torch_gemm", argv=("sleep", "100"), duration_s=100.0, trace=trace)]


def judged(case: dict[str, Any]) -> tuple[GateResult, ...]:
    declared = gates(gates_levels={level: ["torch_gemm"] for level in LEVELS}, gates_baselines=[FLOOR])
    names = [f"n{i}" for i in range(1, case.get("nodes", 1) + 1)]
    subjects = [subject_of(node(name, gpus=case["gpus"], declared=declared), TODAY) for name in names]
    return judge(subjects, [r for name in names for r in records(name, case)], level="standard", gates=["torch_gemm"])


@pytest.mark.parametrize("case", EXAMPLES, ids=lambda c: c["name"])
def test_case(case: dict[str, Any]) -> None:
    results = judged(case)
    bad = [r for r in results if r.outcome not in SILENT]
    assert sorted(f"{r.outcome.value} {r.rule} {r.device or '-'} {r.reason}" for r in bad if r.node == "n1") == sorted(case["results"])
    assert {r.node for r in bad} <= {"n1"}
    assert all(r.hint and r.node in r.hint for r in bad)
    assert not [r for r in bad if r.outcome is Outcome.COULD_NOT_RUN and REPAIR.search(r.hint)]


def test_each_gpu_is_loaded_at_the_same_time_by_its_pci_address() -> None:
    declared = gates(
        gates_levels={level: ["torch_gemm"] for level in LEVELS}, gates_settings={"torch_gemm": {"program": "/opt/t/bin/python3"}}
    )
    steps = [s for s in plan((node("n1", declared=declared),), ["torch_gemm"]).steps["n1"] if s.gate == "torch_gemm"]
    assert [s.device for s in steps] == ["", *(f"gpu{i}" for i in range(8))]
    assert len({s.batch for s in steps}) == 1
    assert steps[4].argv == (
        "env", "CUDA_DEVICE_ORDER=PCI_BUS_ID", "/opt/t/bin/python3", "torch_gemm.py", "--gpu", "3", "--seconds", "300", "--size", "16384",
    )  # fmt: skip
    assert steps[4].version_argv == ("/opt/t/bin/python3", "torch_gemm.py", "--version")
    assert all(s.exclusive for s in steps)


def test_a_repeat_of_the_load_can_be_wrong_too() -> None:
    case: dict[str, Any] = {"gpus": 8, "other": {4: {"rate": 400000.0}}}
    again = [replace(r, step=f"again.{r.step}") for r in records("n1", {"gpus": 8, "other": {4: {"rate": 400000.0}, 1: {"differing": 2}}})]
    declared = gates(gates_levels={level: ["torch_gemm"] for level in LEVELS}, gates_baselines=[FLOOR])
    subject = subject_of(node("n1", gpus=8, declared=declared), TODAY)
    results = judge([subject], [*records("n1", case), *again], level="standard", gates=["torch_gemm"])
    found = {(r.device, r.reason) for r in results if r.outcome is Outcome.FAIL}
    assert ("gpu1", GateReason.WRONG_RESULTS) in found
    assert ("gpu4", GateReason.BELOW_FLOOR) in found
    assert len([r for r in results if r.rule == "products"]) == 8


@given(st.integers(0, 7), st.integers(1, 160))
def test_no_count_of_differences_passes(gpu: int, differing: int) -> None:
    results = judged({"gpus": 8, "other": {gpu: {"differing": differing}}})
    assert [(r.device, r.reason) for r in results if r.outcome is Outcome.FAIL] == [(f"gpu{gpu}", GateReason.WRONG_RESULTS)]


@given(st.integers(0, 600), st.integers(0, 600))
def test_what_is_not_a_whole_output_never_passes(begin: int, length: int) -> None:
    text = torch_output()
    part = text[begin : begin + length]
    if part.strip() == text.strip():
        return
    with pytest.raises(UnparsableError):
        parse_output("torch_gemm", part)


@given(st.permutations(torch_output(differing=1).splitlines()))
def test_lines_in_another_order_are_no_output_of_one_run(lines: list[str]) -> None:
    if lines == torch_output(differing=1).splitlines():
        return
    with pytest.raises(UnparsableError, match="order"):
        parse_output("torch_gemm", "\n".join(lines))


@pytest.mark.parametrize("second", [torch_output(), torch_output(differing=1)])
def test_two_outputs_are_not_one_run(second: str) -> None:
    with pytest.raises(UnparsableError, match="order"):
        parse_output("torch_gemm", torch_output(differing=1) + second)


@given(
    st.text(max_size=300)
    | st.builds(lambda v: json.dumps({"schema_version": 1, "gflops": v, "first": v, "products": v, "error": v}), st.integers() | st.none())
)
def test_any_text_is_unparsable_or_samples(text: str) -> None:
    with pytest.raises(UnparsableError):
        parse_output("torch_gemm", text)


@pytest.mark.parametrize("name", ["device", "torch", "cuda", "driver", "dtype", "size"])
def test_a_gpu_whose_kind_is_not_known_would_be_compared_with_nobody(name: str) -> None:
    with pytest.raises(UnparsableError, match=name):
        parse_output("torch_gemm", torch_output().replace(f'"{name}"', f'"x{name}"'))


@pytest.mark.parametrize("place", [0, 40, 300, 700])
def test_what_the_samples_are_read_from_is_judged(place: int) -> None:
    text = torch_output(differing=1)
    case: dict[str, Any] = {"gpus": 8}
    runs = [replace(r, stdout=text[:place] + "\ufeff" + text[place:]) if r.step == "gpu5" else r for r in records("n1", case)]
    declared = gates(gates_levels={level: ["torch_gemm"] for level in LEVELS}, gates_baselines=[FLOOR])
    results = judge([subject_of(node("n1", gpus=8, declared=declared), TODAY)], runs, level="standard", gates=["torch_gemm"])
    assert [r.device for r in results if r.outcome not in SILENT] == ["gpu5"]


def test_samples_of_a_run() -> None:
    assert [(s.metric, round(s.value, 1), s.unit) for s in parse_output("torch_gemm", torch_output())] == [
        ("gemm", 656.5, "TFLOPS"),
        ("products", 176.0, ""),
        ("differing", 0.0, ""),
    ]


def test_an_interpreter_without_pytorch_is_reported_in_one_line() -> None:
    argv = [sys.executable, "-I", str(SCRIPT), "--gpu", "0", "--seconds", "1"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == torch_gemm.NO_TORCH
    assert "has no PyTorch" in torch_gemm.read_run(done.stdout).error


def test_matrices_that_fill_a_host_are_refused() -> None:
    with pytest.raises(ValueError, match="32768"):
        TorchGemmSettings(size=65536)
    assert GATE.default_levels == ("full",)
