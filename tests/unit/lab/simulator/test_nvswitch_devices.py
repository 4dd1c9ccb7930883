"""The management functions of the NVSwitches of HGX B200 are RDMA devices, but no rails: tools refuse them without a traceback."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl_lab.simulator import hardware_kinds, iblinkinfo, perftest, sysfs_rdma
from support.checks import write_files
from support.lab_machine import LabMachine, lab_machine, simulate_hardware

if TYPE_CHECKING:
    from pathlib import Path

DEVICE = hardware_kinds.HGX_B200.switch_hcas[0][0]


@pytest.fixture
def b200(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LabMachine:
    simulate_hardware(hardware_kinds.HGX_B200, monkeypatch)
    root = write_files(tmp_path, {f"/{path}": str(value) for path, value in sysfs_rdma.files("r12-n01", {}).items()})
    for module in ("iblinkinfo", "cabling"):
        monkeypatch.setattr(f"clusterctl_lab.simulator.{module}.ROOT", str(root / "class/infiniband"))
    machine = lab_machine(tmp_path, monkeypatch)
    machine.load(ib_uverbs="", mlx5_ib="")
    return machine


@pytest.mark.usefixtures("b200")
def test_perftest_refuses_the_device(capsys: pytest.CaptureFixture[str]) -> None:
    assert perftest.main(["ib_write_bw", "-d", DEVICE], "") == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert f"not simulated: {DEVICE}" in printed.err


@pytest.mark.usefixtures("b200")
def test_iblinkinfo_refuses_the_device(capsys: pytest.CaptureFixture[str]) -> None:
    assert iblinkinfo.main(["iblinkinfo", "-l", "-C", DEVICE, "-D", "0"], "") == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert f"not simulated: {DEVICE}" in printed.err


@pytest.mark.usefixtures("b200")
def test_iblinkinfo_still_shows_the_links_of_rails(capsys: pytest.CaptureFixture[str]) -> None:
    assert iblinkinfo.main(["iblinkinfo", "-l", "-C", "mlx5_7", "-D", "0"], "") == 0
    assert "leaf-su1-rail7" in capsys.readouterr().out
