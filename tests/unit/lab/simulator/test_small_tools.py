"""nvbandwidth, ibstat, ibstatus and the daemons."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl.core.parsers import parse_output
from clusterctl_lab.simulator import container_toolkit, daemons, fabricmanager, ibstat, ibstatus, nvbandwidth, pseudo_files, sysfs_rdma
from support.lab_machine import LabMachine, lab_machine

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LabMachine:
    made = lab_machine(tmp_path, monkeypatch)
    made.gpu_stack()
    return made


@pytest.mark.parametrize("form", ["-j", ""])
def test_nvbandwidth_output_parses(node: LabMachine, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = f"{form} -t host_to_device_memcpy_ce device_to_device_memcpy_read_ce".split()
    assert nvbandwidth.main(["nvbandwidth", *words], "0.9") == 0
    samples = parse_output("nvbandwidth", capsys.readouterr().out)
    assert {s.metric for s in samples} == {"host_to_device_memcpy_ce", "device_to_device_memcpy_read_ce"}
    assert all(48 < s.value < 450 for s in samples if s.device)


def test_nvbandwidth_needs_the_fabric(node: LabMachine, capsys: pytest.CaptureFixture[str]) -> None:
    (node.root / "run" / "fabric").unlink()
    assert nvbandwidth.main(["nvbandwidth", "-j"], "0.9") == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "SYSTEM_NOT_READY" in printed.err
    assert nvbandwidth.main(["nvbandwidth", "--help"], "0.9") == 0
    assert "simulated" in capsys.readouterr().out


def test_nvbandwidth_refuses_an_unknown_testcase(node: LabMachine, capsys: pytest.CaptureFixture[str]) -> None:
    assert nvbandwidth.main(["nvbandwidth", "-t", "nonsense"], "0.9") == 1
    assert "not found" in capsys.readouterr().err


def test_ibstat_and_ibstatus_show_the_values_of_sysfs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pseudo_files.write_files(str(tmp_path), sysfs_rdma.files("n1", {"mlx5_3": 200}))
    for module in (ibstat, ibstatus):
        monkeypatch.setattr(module, "ROOT", str(tmp_path / "class/infiniband"))
    assert ibstat.main(["ibstat"], "44.0") == 0
    rates = {s.device: s.value for s in parse_output("ibstat", capsys.readouterr().out) if "rate" in s.metric}
    assert sorted(rates.values()) == [200.0, *[400.0] * 7]
    assert ibstatus.main(["ibstatus", "mlx5_3"], "44.0") == 0
    assert "200 Gb/sec (4X HDR)" in capsys.readouterr().out
    assert ibstat.main(["ibstat", "mlx5_9"], "44.0") == 255


@pytest.mark.parametrize(
    ("program", "driver", "message"),
    [
        (daemons.fabricmanager, "580.65.06", "don't match with driver version 580.65.06"),
        (daemons.fabricmanager, "", "driver is not loaded"),
        (daemons.persistenced, "580.65.06", "failed to initialize"),
    ],
)
def test_daemons_refuse_a_driver_of_another_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], program: object, driver: str, message: str
) -> None:
    made = lab_machine(tmp_path, monkeypatch)
    made.load(nvidia=driver)
    assert callable(program)
    assert program("580.126.20") == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "run" / "fabric").exists()


def test_versions_are_marked_as_simulated(capsys: pytest.CaptureFixture[str]) -> None:
    assert fabricmanager.main(["/usr/bin/nv-fabricmanager", "--version"], "580.126.20") == 0
    assert container_toolkit.main(["nvidia-ctk", "--version"], "1.18.2") == 0
    text = capsys.readouterr().out
    assert "580.126.20" in text
    assert "1.18.2" in text
    assert text.count("simulated") == 2
    assert container_toolkit.main(["nvidia-ctk", "hook"], "1.18.2") == 1
