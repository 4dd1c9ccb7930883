from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from clusterctl.core.parsers import parse_output
from clusterctl_lab.simulator import dcgmi
from support.lab_machine import LabMachine, lab_machine

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LabMachine:
    made = lab_machine(tmp_path, monkeypatch)
    made.gpu_stack()
    monkeypatch.setattr(dcgmi, "_hostengine", lambda: True)
    return made


def run(capsys: pytest.CaptureFixture[str], words: str) -> tuple[int, str]:
    code = dcgmi.main(["dcgmi", *words.split()], "4.5.2")
    return code, capsys.readouterr().out


@pytest.mark.parametrize(("level", "tests"), [(1, 1), (2, 3), (3, 8), (4, 10)])
def test_a_healthy_board_passes_every_test_of_its_level(
    node: LabMachine, level: int, tests: int, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text = run(capsys, f"diag -r {level} -j")
    samples = parse_output("dcgmi_diag", text)
    assert code == 0
    assert {s.value for s in samples} == {1.0}
    assert len({s.metric for s in samples}) == tests
    assert len({s.device for s in samples}) == 8


def test_a_row_remap_failure_fails_its_gpu(node: LabMachine, capsys: pytest.CaptureFixture[str]) -> None:
    node.inject_fault("ecc_uncorrectable", "2")
    code, text = run(capsys, "diag -r 2 -j")
    failed = [s for s in parse_output("dcgmi_diag", text) if s.value == 0]
    assert code != 0
    assert {s.device for s in failed} == {"gpu2"}
    assert "row remapping failed" in failed[0].detail


def test_without_plugins_tests_are_skipped_and_a_skip_is_not_a_pass(node: LabMachine, capsys: pytest.CaptureFixture[str]) -> None:
    (node.root / "packages" / "datacenter-gpu-manager-4-cuda13").unlink()
    _, text = run(capsys, "diag -r 2 -j")
    assert {s.value for s in parse_output("dcgmi_diag", text) if s.metric != "diag_software"} == {0.0}


def test_without_the_fabric_manager_cuda_tests_fail(node: LabMachine, capsys: pytest.CaptureFixture[str]) -> None:
    (node.root / "run" / "fabric").unlink()
    code, text = run(capsys, "diag -r 2 -j")
    assert code != 0
    assert "system not yet initialized" in text


def test_without_the_hostengine_nothing_is_measured(
    node: LabMachine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(dcgmi, "_hostengine", lambda: False)
    code, text = run(capsys, "diag -r 1 -j")
    assert code != 0
    assert "Unable to connect to host engine" in text


def test_the_table_parses(node: LabMachine, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = run(capsys, "diag -r 2")
    assert code == 0
    assert {s.value for s in parse_output("dcgmi_diag", text)} == {1.0}


def test_an_unknown_level_is_refused(node: LabMachine, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "diag -r 7 -j")[0] != 0


def test_discovery_and_version(node: LabMachine, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "discovery -l")[1].startswith("8 GPUs found.")
    assert "version: 4.5.2" in run(capsys, "--version")[1]


def test_the_document_is_marked_as_simulated(node: LabMachine, capsys: pytest.CaptureFixture[str]) -> None:
    assert json.loads(run(capsys, "diag -r 1 -j")[1])["metadata"]["Hardware"] == "simulated"
