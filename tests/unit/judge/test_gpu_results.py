"""gpu_results: wrong results fail the GPU, whatever the exit status; an OK without a comparison proves nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.core.gates.gpu_results import GATE, GpuResultsSettings
from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.subject import subject_of
from clusterctl.core.parsers import UnparsableError, parse_output
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome, RawRecord
from clusterctl.model.level import LEVELS
from clusterctl_tools import gpu_burn
from support.gates import CASES, REPAIR, TODAY, gates, node, plan, record
from support.plain_yaml import load_yaml
from support.recorded import recorded

EXAMPLES = load_yaml((CASES / "judge_gpu_results" / "cases.yml").read_text(encoding="utf-8"))
ASKED_S = 300


def output(own: dict[str, Any]) -> str:
    note = f" ({own['note']}!)" if "note" in own else " (WARNING!)" if own.get("errors") else ""
    line = f"100.0%  proc'd: {own.get('multiplications', 56000)} (50900 Gflop/s)   errors: {own.get('errors', 0)} {note}  temps: 61 C "
    line = own.get("report", line)
    verdicts = own.get("verdict", "OK").split()
    head = f"Using compare file: {gpu_burn.COMPARE}\nBurning for {ASKED_S} seconds.\n"
    body = f"\r{line}\n\tSummary at:   Wed Nov 25 22:00:00 UTC 2026\n\n\r{line}"
    kept = own.get("kept", 280)
    child = (
        f"\nKilling processes with SIGTERM (soft kill)\nResults are 268435456 bytes each, thus performing {kept} iterations\n"
        if kept
        else ""
    )
    ending = f"done\n\nTested {len(verdicts)} GPUs:\n" + "".join(f"\tGPU {i}: {word}\n" for i, word in enumerate(verdicts))
    return head + body + child + ("" if verdicts == ["none"] else ending)


def records(case: dict[str, Any], name: str = "n1") -> list[RawRecord]:
    found = []
    for gpu in range(case["gpus"]):
        own = {**case.get("all", {}), **case.get("other", {}).get(gpu, {})}
        if own.get("absent"):
            continue
        made = record("gpu_results", name, output(own), step=f"gpu{gpu}", device=f"gpu{gpu}", tool="gpu_burn", stderr=own.get("stderr", ""))
        argv = tuple(gpu_burn.burn_argv(gpu, ASKED_S))
        found.append(replace(made, argv=argv, duration_s=float(own.get("ran_s", ASKED_S + 2)), exit_status=own.get("exit_status", 0)))
    return found


def judged(case: dict[str, Any]) -> tuple[GateResult, ...]:
    declared = gates(gates_levels={level: ["gpu_results"] for level in LEVELS})
    return tuple(
        r
        for r in judge(
            (subject_of(node("n1", gpus=case["gpus"], declared=declared), TODAY),), records(case), level="standard", gates=["gpu_results"]
        )
        if r.gate == GATE.name
    )


@pytest.mark.parametrize("case", EXAMPLES, ids=lambda case: case["name"])
def test_cases(case: dict[str, Any]) -> None:
    results = judged(case)
    bad = [r for r in results if r.outcome is not Outcome.PASS]
    assert sorted(f"{r.outcome.value} {r.rule} {r.device or '-'} {r.reason}" for r in bad) == sorted(case["results"])
    assert all(r.hint and r.node in r.hint for r in bad)
    assert not [r for r in bad if r.outcome is Outcome.COULD_NOT_RUN and REPAIR.search(r.hint)]
    named = {r.device for r in bad}
    assert {r.device for r in results if r.outcome is Outcome.PASS} == {
        f"gpu{i}" for i in range(case["gpus"]) if not {f"gpu{i}", ""} & named
    }


def test_each_gpu_is_burned_at_the_same_time_by_its_pci_address() -> None:
    steps = plan((node("n1", declared=gates(gates_levels={level: ["gpu_results"] for level in LEVELS})),), ["gpu_results"]).steps["n1"]
    own = [s for s in steps if s.gate == "gpu_results"]
    assert [s.device for s in own] == [f"gpu{i}" for i in range(8)]
    assert len({s.batch for s in own}) == 1
    assert own[3].argv == (
        "env", "CUDA_DEVICE_ORDER=PCI_BUS_ID", "gpu_burn", "-c", "/usr/share/gpu-burn/compare.fatbin", "-m", "90%", "-tc", "-stts", "30", "-i", "3", "300",
    )  # fmt: skip
    assert all(s.exclusive and s.timeout_s > ASKED_S + gpu_burn.END_S for s in own)


@pytest.mark.parametrize(
    "path", ["/opt/gpu-head/compare.fatbin", "/usr/lib/gpu-libs/compare.ptx", "/srv/x-dir/compare.ptx", "/x-tc/compare"]
)
def test_a_path_that_gpu_burn_takes_for_an_option_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="for that option"):
        GpuResultsSettings(compare=path)


def test_a_recorded_run_of_eight_gpus() -> None:
    text = recorded("gpu-burn/superbench-gpu_burn.log.txt").read_text(encoding="utf-8")
    samples = parse_output("gpu_burn", text)
    assert [s.value for s in samples if s.metric == "multiplications"] == [6783, 6783, 6783, 4522, 4522, 6783, 4522, 4522]
    assert {s.status for s in samples if s.metric == "results"} == {"OK"}
    assert gpu_burn.read_burn(text).at_once == 2261


@given(st.integers(0, 7), st.integers(-(2**31), 2**31 - 1).filter(bool), st.integers(1, 10**6))
def test_no_count_of_differences_passes(gpu: int, errors: int, multiplications: int) -> None:
    other = {gpu: {"errors": errors, "multiplications": multiplications, "verdict": "FAULTY"}}
    results = judged({"gpus": 8, "other": other})
    assert [(r.device, r.reason) for r in results if r.outcome is Outcome.FAIL] == [(f"gpu{gpu}", GateReason.WRONG_RESULTS)]


@given(st.text(max_size=400) | st.builds(lambda a, b: output({})[a : a + b], st.integers(0, 400), st.integers(0, 400)))
def test_what_is_not_a_whole_output_never_passes(text: str) -> None:
    case = {"gpus": 1}
    broken = replace(records(case)[0], stdout=text)
    subject = subject_of(node("n1", gpus=1, declared=gates(gates_levels={level: ["gpu_results"] for level in LEVELS})), TODAY)
    results = [r for r in judge((subject,), [broken], level="standard", gates=["gpu_results"]) if r.gate == GATE.name]
    assert results
    whole = all(word in text for word in ("proc'd: ", " iterations", "GPU 0: OK"))
    assert whole or all(r.outcome is Outcome.COULD_NOT_RUN for r in results)


@pytest.mark.parametrize(
    "text",
    [
        "Tested 2 GPUs:\n\tGPU 0: OK\n",
        "Tested 1 GPUs:\n\tGPU 1: OK\n",
        "100.0%  proc'd: 1 (5 Gflop/s)   errors: 0   temps: 1 C \nTested 2 GPUs:\n\tGPU 0: OK\n\tGPU 1: OK\n",
        "1.0%  proc'd: 1 (5 Gflop/s)   errors: 0   temps: 1 C \n2.0%  proc'd: 1 (5 Gflop/s) - 1 (5 Gflop/s)   errors: 0 - 0   temps: 1 C \n",
    ],
)
def test_verdicts_and_reports_must_agree(text: str) -> None:
    with pytest.raises(UnparsableError):
        parse_output("gpu_burn", text)
