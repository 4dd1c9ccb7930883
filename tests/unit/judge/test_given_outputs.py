"""`judge TARGET --input DIR`: outputs of others are judged as if `burnin` had printed them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import jsonschema
import pytest

from clusterctl.adapters.inventory.load import load_nodes
from clusterctl.main import call
from clusterctl.model.errors import ConfigError, UsageProblemError
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome
from clusterctl.workflows.judge_given import judge_given
from clusterctl_lab.simulator.dcgmi import diagnostic_document
from support.gates import CASES, nccl, node
from support.host_memory import node_memory_output
from support.recorded import recorded
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.model.node import Node


def diagnostic(run_level: int, gpus: int = 8, *, failed: str = "") -> str:
    """As DCGM 4 prints it; a test fails on GPU 3."""
    names = ("software", "memory", "pcie", "diagnostic", "targeted_stress", "targeted_power", "memtest")[
        : {1: 1, 2: 3, 3: 6, 4: 7}[run_level]
    ]
    statuses = {name: ["Fail" if name == failed and i == 3 else "Pass" for i in range(gpus)] for name in names}
    tests = [
        {
            "name": n,
            "results": [{"entity_group": "GPU", "entity_group_id": 1, "entity_id": i, "status": s} for i, s in enumerate(statuses[n])],
        }
        for n in names
    ]
    return json.dumps({"DCGM Diagnostic": {"test_categories": [{"category": "Hardware", "tests": tests}]}})


def give(folder: Path, **outputs: str) -> Path:
    """`n1__dcgm_diag_json` is the file n1/dcgm_diag.json."""
    for name, text in outputs.items():
        where, _, file = name.partition("__")
        (folder / where).mkdir(parents=True, exist_ok=True)
        stem, _, ending = file.rpartition("_")
        (folder / where / f"{stem}.{ending}").write_text(text)
    return folder


def judged(folder: Path, *nodes: Node, level: str = "full", gate: str = "") -> dict[str, list[GateResult]]:
    found = judge_given(folder, nodes, level, gate=gate)  # type: ignore[arg-type]
    return {n.name: [r for r in found.results if r.node == n.name] for n in nodes}


def test_a_diagnostic_of_level_4_that_somebody_else_ran(tmp_path: Path) -> None:
    give(tmp_path, n1__dcgm_diag_json=diagnostic(4), n2__dcgm_diag_json=diagnostic(4, failed="memtest"))
    found = judged(tmp_path, node("n1"), node("n2"))
    assert {r.outcome for r in found["n1"]} == {Outcome.PASS}
    (bad,) = [r for r in found["n2"] if r.outcome is not Outcome.PASS]
    assert (bad.metric, bad.device, bad.reason) == ("diag_memtest", "gpu3", GateReason.TEST_FAILED)


def test_a_shorter_diagnostic_than_the_level_demands_proves_nothing(tmp_path: Path) -> None:
    give(tmp_path, n1__dcgm_diag_json=diagnostic(2))
    assert {r.outcome for r in judged(tmp_path, node("n1"), level="standard")["n1"]} == {Outcome.PASS}
    assert Outcome.COULD_NOT_RUN in {r.outcome for r in judged(tmp_path, node("n1"))["n1"]}


def test_what_cannot_be_read_is_looked_for_in_the_folder_that_was_given(tmp_path: Path) -> None:
    """There is no run, so the hint must not name its directory."""
    give(tmp_path, n1__dcgm_diag_json="{}")
    (result,) = judged(tmp_path, node("n1"))["n1"]
    assert result.reason is GateReason.UNPARSABLE
    assert (
        result.hint == f"look at {tmp_path / 'n1'}/dcgm_diag.*: the whole output of the tool is needed, as `clusterctl parse --list` has it"
    )


def test_the_test_of_the_vendor_within_dcgm_counts(tmp_path: Path) -> None:
    document = json.loads(diagnostic(4))
    eud = {"name": "eud", "results": [{"entity_group": "GPU", "entity_group_id": 1, "entity_id": 5, "status": "Fail"}]}
    document["DCGM Diagnostic"]["test_categories"][0]["tests"].append(eud)
    give(tmp_path, n1__dcgm_diag_json=json.dumps(document))
    (bad,) = [r for r in judged(tmp_path, node("n1"))["n1"] if r.outcome is not Outcome.PASS]
    assert (bad.outcome, bad.metric, bad.device) == (Outcome.FAIL, "diag_eud", "gpu5")


def test_a_recorded_diagnostic_of_level_2_satisfies_standard_and_not_full(tmp_path: Path) -> None:
    give(tmp_path, n1__dcgm_diag_json=recorded("dcgmi/virtualclient-DCGMIDiag_r2_results.json").read_text())
    assert {r.outcome for r in judged(tmp_path, node("n1", gpus=1), level="standard")["n1"]} == {Outcome.PASS}
    lacking = {r.metric for r in judged(tmp_path, node("n1", gpus=1))["n1"] if r.outcome is Outcome.COULD_NOT_RUN}
    assert lacking == {"diag_diagnostic", "diag_targeted_stress", "diag_targeted_power", "diag_memtest"}


def test_a_gate_that_no_level_of_the_profile_has(tmp_path: Path) -> None:
    give(tmp_path, n1__vendor_diag_log="PASS\n", n2__vendor_diag_log="FAIL\n")
    found = judged(tmp_path, node("n1"), node("n2"), node("n3"))
    assert [[r.outcome for r in found[n]] for n in ("n1", "n2", "n3")] == [[Outcome.PASS], [Outcome.FAIL], [Outcome.COULD_NOT_RUN]]
    assert found["n3"][0].reason is GateReason.NO_EVIDENCE


def test_floors_of_the_profile_hold_for_the_outputs_of_others(tmp_path: Path) -> None:
    give(tmp_path, n1__nccl_node_txt=nccl(477.0), n2__nccl_node_txt=nccl(300.0))
    found = judged(tmp_path, node("n1"), node("n2"))
    assert [{r.outcome for r in found[n] if r.metric == "busbw"} for n in ("n1", "n2")] == [{Outcome.PASS}, {Outcome.FAIL}]


@pytest.mark.parametrize("gate", ["host_memory", "nvme_fio", "gpu_results", "gpu_stress", "torch_gemm"])
def test_a_load_whose_time_nobody_knows_is_not_judged(tmp_path: Path, gate: str) -> None:
    give(tmp_path, **{f"n1__{gate}_txt": node_memory_output()})
    with pytest.raises(ConfigError, match=f"{gate} must load a node for a time"):
        judged(tmp_path, node("n1"))


def test_one_gate_of_several(tmp_path: Path) -> None:
    give(tmp_path, n1__dcgm_diag_json=diagnostic(1), n1__vendor_diag_log="PASS\n")
    assert {r.gate for r in judged(tmp_path, node("n1"), gate="vendor_diag")["n1"]} == {"vendor_diag"}


@pytest.mark.parametrize(
    ("gate", "message"), [("vendor_dia", "unknown gate 'vendor_dia'"), ("vendor_diag", "has no output of vendor_diag")]
)
def test_a_gate_that_none_of_them_has_is_a_usage_error(tmp_path: Path, gate: str, message: str) -> None:
    give(tmp_path, n1__dcgm_diag_json=diagnostic(1))
    with pytest.raises(UsageProblemError, match=message):
        judged(tmp_path, node("n1"), gate=gate)


def test_the_simulated_diagnostic_has_the_tests_that_are_required(tmp_path: Path) -> None:
    found = diagnostic_document([], 4, "4.5.2", "580.1", plugins=True)
    names = {t["name"] for c in found["DCGM Diagnostic"]["test_categories"] for t in c["tests"]}
    required = {t["name"] for t in json.loads(diagnostic(4))["DCGM Diagnostic"]["test_categories"][0]["tests"]}
    assert required <= names


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "no output in it"),
        ({"n9/dcgm_diag.json": "{}"}, "the target has no such node"),
        ({"n1/nonsense.json": "{}"}, "unknown gate 'nonsense'"),
        ({"n1/rdma_pair.txt": "x"}, "rdma_pair is not measured by one node alone"),
        ({"n1/dcgm_diag.json": "{}", "n1/dcgm_diag.txt": "x"}, "two files of gate dcgm_diag"),
        ({"n1/dcgm_diag.json/x": "{}"}, "Is a directory"),
        ({"dcgm_diag.json": "{}"}, "Not a directory"),
    ],
)
def test_what_is_no_such_directory(tmp_path: Path, files: dict[str, str], message: str) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    with pytest.raises(ConfigError, match=message):
        judged(tmp_path, node("n1"))


def test_bytes_that_are_no_text_are_judged_and_prove_nothing(tmp_path: Path) -> None:
    (tmp_path / "n1").mkdir()
    (tmp_path / "n1" / "vendor_diag.log").write_bytes(b"\xff\xfe\x00PASS")
    assert [r.outcome for r in judged(tmp_path, node("n1"))["n1"]] == [Outcome.COULD_NOT_RUN]


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    inventory = ["-i", str(ROOT / "inventory" / "common"), "-i", str(ROOT / "inventory" / "lab")]
    one = load_nodes([ROOT / "inventory" / "common", ROOT / "inventory" / "lab"], "rack-12")[0].name
    folder = give(tmp_path / "given", **{f"{one}__vendor_diag_log": (CASES / "parsers/vendor_diag_messages/input.txt").read_text()})
    assert call(["judge", one, "--input", str(folder), *inventory, "-o", "json"]) == 7
    data = json.loads(capsys.readouterr().out)
    jsonschema.validate(data, json.loads((ROOT / "docs/reference/schemas/judge.schema.json").read_text()))
    assert (data["level"], data["gates"]) == ("full", ["vendor_diag"])
    assert call(["judge", one, "--input", str(folder), *inventory]) == 7
    assert "judged only, no record is changed" in capsys.readouterr().out
    assert call(["judge", one, "--input", str(folder), "--recorded", *inventory]) == 2
    assert not (tmp_path / ".clusterctl").exists()
