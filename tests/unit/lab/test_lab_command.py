"""Words of `clusterctl lab` that would have no effect are refused or reported; what cannot be written is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl.main import call
from clusterctl_lab import containers, fault_injection, faults, rack
from clusterctl_lab.layout import LabPaths, lab_rack
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl_lab.simulator.state import Fault

COMMON = ROOT / "inventory" / "common"
NODE = "r9-n01"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, in which no container is part of a lab."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(containers, "lab_containers", lambda *_: {})
    return tmp_path


@pytest.fixture
def broken(folder: Path, monkeypatch: pytest.MonkeyPatch) -> LabPaths:
    """A running node with two faults of GPUs."""
    paths = LabPaths(folder / ".clusterctl" / "lab")
    paths.node_dir(NODE).mkdir(parents=True)
    monkeypatch.setattr(fault_injection, "_boot_id", lambda *_: "boot")
    faults.save_faults(paths.node_dir(NODE) / "faults.json", [faults.make_fault("gpu_missing", d) for d in ("3", "5")])
    return paths


def stored(paths: LabPaths) -> tuple[Fault, ...]:
    return faults.load_faults(paths.node_dir(NODE) / "faults.json")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("gpu_mising", "--clear"), "unknown fault 'gpu_mising'"),
        (("gpu_missing", "--clear", "--device", "55"), "unknown device '55'"),
        (("--clear", "--device", "5"), "--device only with the name of a fault"),
        (("gpu_missing", "--clear", "--option", "x"), "--clear takes no --option"),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, tuple) else "",
)
def test_what_cannot_be_cleared_is_a_usage_error(
    broken: LabPaths, words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(["lab", "fault", NODE, *words]) == 2
    assert message in capsys.readouterr().err
    assert len(stored(broken)) == 2


def test_a_gpu_is_cleared_by_each_name_by_which_it_is_injected(broken: LabPaths) -> None:
    assert call(["lab", "fault", NODE, "gpu_missing", "--clear", "--device", "GPU5"]) == 0
    assert [f.device for f in stored(broken)] == ["3"]
    assert call(["lab", "fault", NODE, "gpu_missing", "--clear"]) == 0
    assert stored(broken) == ()


def test_a_factor_without_real_times_is_a_usage_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["lab", "up", "rack-9", "--time-factor", "0.1"]) == 2
    assert "hint: add --real-time" in capsys.readouterr().err
    assert list(folder.iterdir()) == []


def test_options_for_new_nodes_are_reported_where_the_nodes_are_not_new() -> None:
    nodes = lab_rack("rack-9", 4)
    text = rack._without_effect(nodes, list(nodes.nodes[2:]), healthy=True, real_time=0.1, fresh=False)
    assert text.startswith("r9-n03, r9-n04 left as before: --healthy, --real-time is for new nodes")
    assert rack._without_effect(nodes, [nodes.nodes[0]], healthy=True, real_time=0, fresh=False) == ""
    assert rack._without_effect(nodes, [], healthy=True, real_time=1, fresh=True) == ""


def test_a_lab_that_cannot_have_a_folder_is_a_path_that_cannot_be_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(rack, "check_host", lambda: None)
    assert folder.is_dir()
    assert call(["--state-dir", "/proc/x", "lab", "up", "rack-9"]) == 3
    assert "error: /proc/x/lab: No such file or directory\nhint: " in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["down", "status"])
def test_a_lab_without_nodes_is_named_and_nothing_is_created(folder: Path, verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["lab", verb, "rack-9"]) == 0
    assert f"rack-9: no node of it is in the lab of {folder / '.clusterctl'}" in capsys.readouterr().err
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("file", ["/proc/x/y.json", "/dev/full"])
def test_a_result_that_cannot_be_written_is_a_path_that_cannot_be_used(folder: Path, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert folder.is_dir()
    assert call(["lab", "resolve", "profile-hgx-h100-ib", "--release", "22.04", "-i", str(COMMON), "--out", file]) == 3
    printed = capsys.readouterr()
    assert f"error: {file}: " in printed.err
    assert "hint: name a file in a folder" in printed.err


def test_what_is_not_covered_is_printed_beside_what_it_is_about(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert folder.is_dir()
    assert call(["lab", "resolve", "profile-hgx-h100-ib", "--release", "22.04", "-i", str(COMMON)]) == 0
    assert "EL 9" not in capsys.readouterr().err
