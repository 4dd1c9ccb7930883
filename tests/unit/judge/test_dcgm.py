from __future__ import annotations

import json
from typing import Any

import pytest

from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.subject import subject_of
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome
from support.gates import CASES, TODAY, gates, node, record
from support.recorded import recorded

DEPLOYMENT = (
    "Denylist",
    "NVML Library",
    "CUDA Main Library",
    "Permissions and OS Blocks",
    "Persistence Mode",
    "Environment Variables",
    "Graphics Processes",
    "Inforom",
)


def diag(
    status: dict[tuple[str, int], str] | None = None,
    *,
    info: str = "",
    gpus: int = 8,
    tests: tuple[str, ...] = ("software", "memory", "pcie"),
) -> str:
    categories = []
    for test in tests:
        results: list[dict[str, Any]] = [
            {
                "entity_group": "GPU",
                "entity_id": i,
                "status": (status or {}).get((test, i), "Pass"),
                "info": [info] if info and i == 3 else [],
            }
            for i in range(gpus)
        ]
        categories.append({"category": "x", "tests": [{"name": test, "results": results}]})
    return json.dumps({"DCGM Diagnostic": {"test_categories": categories}})


def results(text: str, **more: Any) -> tuple[GateResult, ...]:
    gpus = more.pop("gpus", 8)
    subject = subject_of(node("n1", gpus=gpus, declared=more.pop("declared", None)), TODAY)
    return judge([subject], [record("dcgm_diag", "n1", text, **more)], level="standard", gates=["dcgm_diag"])


def outcomes(text: str, **more: Any) -> set[str]:
    return {r.outcome.value for r in results(text, **more)}


def test_all_pass() -> None:
    found = results(diag())
    assert [(r.metric, r.outcome, r.found) for r in found] == [
        (f"diag_{t}", Outcome.PASS, "Pass on 8 GPUs") for t in ("memory", "pcie", "software")
    ]


def test_a_failing_gpu_is_named_with_the_next_action() -> None:
    bad = [r for r in results(diag({("memory", 5): "Fail"}), exit_status=226) if r.outcome is not Outcome.PASS]
    assert [(r.outcome, r.device, r.metric) for r in bad] == [(Outcome.FAIL, "gpu5", "diag_memory")]
    assert bad[0].reason is GateReason.TEST_FAILED
    assert "XID" in bad[0].hint
    assert bad[0].hint.startswith("run the field diagnostic on gpu5")


@pytest.mark.parametrize("status", ["Skip", "Warn", "Not Run", "no status"])
def test_whatever_is_not_pass_is_no_pass(status: str) -> None:
    assert outcomes(diag({("pcie", 0): status})) == {"pass", "could_not_run"}


@pytest.mark.parametrize(
    "text",
    [
        "Failed to allocate 90% of memory on GPU 3",
        "GPU 3: Couldn't allocate at least 75.0% of GPU memory",
        "Unable to allocate enough memory, test shortened",
        "cudaMalloc failed for 81 GB: out of memory",
        "Error: cannot allocate host memory",
        "allocation of the buffer failed",
    ],
)
def test_a_pass_with_an_allocation_error_is_no_pass(text: str) -> None:
    bad = [r for r in results(diag(info=text)) if r.outcome is not Outcome.PASS]
    assert {(r.outcome, r.rule, r.device) for r in bad} == {(Outcome.COULD_NOT_RUN, "allocation", "gpu3")}
    assert text in bad[0].detail


def test_the_usual_allocation_line_is_a_pass() -> None:
    assert outcomes(diag(info="GPU 3 Allocated 83517014016 bytes (98.3%)")) == {"pass"}


def test_a_gpu_without_a_verdict_is_missing_evidence() -> None:
    bad = [r for r in results(diag(gpus=7)) if r.outcome is not Outcome.PASS]
    assert {(r.device, r.outcome) for r in bad} == {("gpu7", Outcome.COULD_NOT_RUN)}


def test_a_required_test_that_is_absent_is_missing_evidence() -> None:
    bad = [r for r in results(diag(tests=("software", "pcie"))) if r.outcome is not Outcome.PASS]
    assert {r.metric for r in bad} == {"diag_memory"}


def test_a_good_report_with_a_bad_exit_status_is_no_pass() -> None:
    found = results(diag(), exit_status=1, stderr="hostengine died")
    assert [(r.rule, r.detail) for r in found if r.outcome is not Outcome.PASS] == [
        ("exit_status", "dcgmi ended with exit status 1: hostengine died")
    ]


def test_a_profile_that_requires_nothing_proves_nothing() -> None:
    declared = gates(gates_settings={"dcgm_diag": {"required_tests": {}}})
    assert outcomes(diag(), declared=declared) == {"could_not_run"}


def test_dcgm_3_and_4_are_both_read() -> None:
    text = recorded("dcgmi/virtualclient-DCGMIDiag_r2_results.json").read_text()
    assert outcomes(text, gpus=1) == {"pass"}
    four = (CASES / "parsers" / "dcgm4_json_fail" / "input.txt").read_text()
    assert {(r.device, r.outcome.value) for r in results(four, gpus=2) if r.metric == "diag_memory"} == {("gpu1", "fail")}


def test_dcgm_3_persistence_failure_is_a_fail_with_its_remedy() -> None:
    text = recorded("dcgmi/gcm-check_dcgmi-L60.json").read_text()
    failed = [r for r in results(text, gpus=8) if r.outcome is Outcome.FAIL]
    assert [(r.metric, r.reason) for r in failed] == [("diag_persistence_mode", GateReason.PERSISTENCE_OFF)]
    assert "nvidia-persistenced" in failed[0].hint


@pytest.mark.parametrize(
    ("more", "rule"),
    [
        ({"text": "", "exit_status": 0}, "complete"),
        ({"text": "garbage", "exit_status": 0}, "complete"),
        ({"text": diag()[:200], "exit_status": 0}, "complete"),
        ({"text": "Error: Unable to connect to host engine.", "exit_status": 255}, "exit_status"),
        ({"text": diag(), "exit_status": None, "error": "timed out after 1200 s"}, "complete"),
        ({"text": "", "exit_status": None, "error": "dcgmi: not installed"}, "complete"),
    ],
)
def test_missing_evidence_is_no_verdict(more: dict[str, Any], rule: str) -> None:
    text = more.pop("text")
    found = results(text, **more)
    assert [(r.outcome, r.rule) for r in found] == [(Outcome.COULD_NOT_RUN, rule)]
    assert found[0].hint


@pytest.mark.parametrize("results_of_test", [[{"status": "Pass"}], []], ids=["no GPU id", "summary only"])
def test_a_verdict_that_names_no_gpu_does_not_count_for_all(results_of_test: list[dict[str, Any]]) -> None:
    tests = [{"name": t, "results": results_of_test, "test_summary": {"status": "Pass"}} for t in ("software", "memory", "pcie")]
    found = results(json.dumps({"DCGM Diagnostic": {"test_categories": [{"category": "x", "tests": tests}]}}))
    assert {(r.outcome, r.reason) for r in found} == {(Outcome.COULD_NOT_RUN, GateReason.INCOMPLETE)}
    assert {r.device for r in found} == {f"gpu{i}" for i in range(8)}


def test_a_pending_row_remap_that_dcgm_3_only_warns_of_is_no_pass() -> None:
    warning = "GPU 0 has a pending row remap. Reset the GPU."
    tests = [
        *({"name": t, "results": [{"gpu_ids": "0", "status": "Pass"}]} for t in ("Memory", "PCIe", *DEPLOYMENT)),
        {"name": "Page Retirement/Row Remap", "results": [{"gpu_ids": "0", "status": "Warn", "warnings": warning}]},
    ]
    text = json.dumps({"DCGM GPU Diagnostic": {"test_categories": [{"category": "x", "tests": tests}]}})
    bad = [r for r in results(text, gpus=1) if r.outcome is not Outcome.PASS]
    assert [(r.outcome, r.device, r.reason) for r in bad] == [(Outcome.FAIL, "gpu0", GateReason.ROW_REMAP)]
    assert "reset gpu0" in bad[0].hint


def test_an_error_of_dcgm_itself_is_no_verdict_on_the_hardware() -> None:
    internal = "There was an internal error during the test: 'The output of the child process 2378806 couldn't be parsed'"
    tests = [
        {"name": "pcie", "results": [{"entity_group": "GPU", "entity_id": i, "status": "Fail", "warnings": [internal]} for i in range(8)]}
    ]
    text = json.loads(diag(tests=("software", "memory")))
    text["DCGM Diagnostic"]["test_categories"].append({"category": "y", "tests": tests})
    bad = [r for r in results(json.dumps(text), exit_status=226) if r.outcome is not Outcome.PASS]
    assert {(r.outcome, r.reason) for r in bad if r.metric == "diag_pcie"} == {(Outcome.COULD_NOT_RUN, GateReason.TOOL_FAILED)}
    assert not [r for r in bad if "reseat" in r.hint]
