"""NVLinks and fabric of a lab node come up some time after its boot, each on its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl_lab.simulator import hardware_kinds, nvidia_smi
from clusterctl_tools import nvidia_smi as parser
from support.lab_machine import LabMachine, lab_machine, simulate_hardware
from support.recorded import recorded

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl_lab.simulator.hardware import Hardware

DRIVER = "580.126.20"
KINDS = (hardware_kinds.HGX_H100, hardware_kinds.HGX_B200, hardware_kinds.GB300_NVL72)


@pytest.fixture(params=KINDS, ids=lambda kind: kind.name)
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Hardware:
    found: Hardware = request.param
    simulate_hardware(found, monkeypatch)
    return found


@pytest.fixture
def node(kind: Hardware, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LabMachine:
    one = lab_machine(tmp_path, monkeypatch)
    one.gpu_stack()
    return one


def links(capsys: pytest.CaptureFixture[str]) -> tuple[str, set[int]]:
    assert nvidia_smi.main(["nvidia-smi", "nvlink", "-s"], DRIVER) == 0
    text = capsys.readouterr().out
    return text, {len(found) for found in parser.parse_nvlinks(text).values()}


def fabric(capsys: pytest.CaptureFixture[str]) -> set[tuple[str | None, str | None]]:
    assert nvidia_smi.main(["nvidia-smi", "-q", "-x"], DRIVER) == 0
    return {(g.fabric_state, g.fabric_status) for g in parser.parse_query(capsys.readouterr().out).gpus}


def test_links_train_and_then_the_gpus_join(kind: Hardware, node: LabMachine, capsys: pytest.CaptureFixture[str]) -> None:
    seen = []
    for age in (0.0, 4.0, 7.0):
        node.age_s("boot_id", age)
        seen.append((links(capsys)[1], fabric(capsys)))
    up, waiting = {kind.nvlinks}, {("In Progress", None)}
    assert seen == [({0}, waiting), (up, waiting), (up, {("Completed", "Success")})]


def test_the_fault_makes_both_late(kind: Hardware, node: LabMachine, capsys: pytest.CaptureFixture[str]) -> None:
    node.inject_fault("fabric_slow", option="120")
    node.age_s("fabric", 3600)
    node.age_s("boot_id", 59)
    assert links(capsys)[1] == {0}
    node.age_s("boot_id", 61)
    assert links(capsys)[1] == {kind.nvlinks}
    assert fabric(capsys) == {("In Progress", None)}
    node.age_s("boot_id", 121)
    assert fabric(capsys) == {("Completed", "Success")}


def test_a_fabric_manager_that_was_restarted_registers_the_gpus_again(
    kind: Hardware, node: LabMachine, capsys: pytest.CaptureFixture[str]
) -> None:
    node.inject_fault("fabric_slow", option="30")
    node.age_s("fabric", 5)
    assert fabric(capsys) == {("Completed", "Success") if kind.rack_nvlink else ("In Progress", None)}
    assert links(capsys)[1] == {kind.nvlinks}


def test_inactive_links_are_printed_as_on_real_gpus(kind: Hardware, node: LabMachine, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = (
        recorded(f"nvidia-smi/{name}.txt").read_text() for name in ("nvlink-s-v100-two-inactive", "nvlink-s-b200-gpu2-all-inactive")
    )
    node.age_s("boot_id", 0)
    lines = [line.strip() for line in links(capsys)[0].splitlines() if not line.startswith("GPU ")]
    if kind.name == "hgx_h100":
        assert lines[3] in [line.strip() for line in old.splitlines()]
        assert len(lines) == 8 * kind.nvlinks
    else:
        assert set(lines) <= {line.strip() for line in new.splitlines()}
