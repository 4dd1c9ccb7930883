"""Simulated tools take as long as real ones, if the lab is told to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl_lab import node_hardware
from clusterctl_lab.layout import LabPaths, lab_rack
from clusterctl_lab.simulator import hardware_kinds, tool_timings
from support.lab_machine import LabMachine, lab_machine, simulate_hardware
from support.plain_yaml import load_yaml
from support.recorded import RECORDED

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LabMachine:
    made = lab_machine(tmp_path, monkeypatch)
    made.load(nvidia="580.126.20")
    made.flag("persistence")
    return made


@pytest.mark.usefixtures("node")
@pytest.mark.parametrize(
    ("module", "words", "expected_s"),
    [
        ("nv_config", "-d 0000:18:00.0 -e query", 13.292),
        ("nv_config", "-d 0000:18:00.0 -e query SRIOV_EN ATS_ENABLED", 1.437),
        ("nv_config", "-d 0000:18:00.0 -y set SRIOV_EN=0", 1.437),
        ("nv_config", "--help", 0),
        ("nvidia_smi", "-q -x", 2),
        ("nvidia_smi", "--version", 0),
        ("dcgmi", "diag -r 3 -j", 900),
        ("dcgmi", "diag -r 1 -j", 0),
        ("dcgmi", "discovery -l", 0),
        ("perftest", "-d mlx5_0 -D 10 peer", 10),
        ("perftest", "-d mlx5_0 peer", 0),
        ("ofed_info", "-s", 0),
    ],
)
def test_seconds_of_a_tool(module: str, words: str, expected_s: float) -> None:
    assert tool_timings.seconds(module, words.split()) == expected_s


def test_nvidia_smi_waits_for_the_driver_without_persistence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = lab_machine(tmp_path, monkeypatch)
    assert tool_timings.seconds("nvidia_smi", ["-q"]) == 0
    made.load(nvidia="580.126.20")
    assert tool_timings.seconds("nvidia_smi", ["-q"]) == 30
    assert tool_timings.seconds("nvidia_smi", ["-pm", "1"]) == 25
    # A compute tray has half as many GPUs.
    simulate_hardware(hardware_kinds.GB300_NVL72, monkeypatch)
    assert tool_timings.seconds("nvidia_smi", ["-q"]) == 15


@pytest.mark.usefixtures("node")
@pytest.mark.parametrize(("factor", "expected"), [(0.0, []), (1.0, [13.292]), (0.5, [6.646])])
def test_the_factor_of_the_lab_scales_the_wait(
    factor: float, expected: list[float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths, lab_node = LabPaths(tmp_path / "lab"), lab_rack("rack-20", 1).nodes[0]
    paths.node_dir(lab_node.name).mkdir(parents=True)
    node_hardware.set_real_time(paths, lab_node, factor)
    monkeypatch.setattr(tool_timings, "FACTOR", str(paths.node_dir(lab_node.name) / node_hardware.REAL_TIME_FILE))
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    tool_timings.wait("nv_config", ["mlxconfig", "-d", "0000:18:00.0", "-e", "query"])
    assert slept == expected


def test_the_facts_are_those_of_the_collection() -> None:
    collection = RECORDED.parent / "reality" / "timings.yaml"
    if not collection.exists():
        pytest.skip("../shared/reality/timings.yaml is missing")
    facts = {row["what"]: row for row in load_yaml(collection.read_text())["timings"]}
    for timing in tool_timings.ALL:
        row = facts[timing.what]
        assert (timing.seconds, timing.kind, timing.source) == (row["seconds"], row["kind"], row["source"])
