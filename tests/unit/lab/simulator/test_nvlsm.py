"""The fabric manager of boards with fourth-generation NVSwitches needs a subnet manager and its kernel module."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

from clusterctl_lab.simulator import daemons, fabricmanager_start, hardware_kinds, nvlsm
from support.lab_machine import LabMachine, lab_machine, simulate_hardware

if TYPE_CHECKING:
    from pathlib import Path

VERSION = "580.126.20"
SIGNAL_CALLS: list[tuple[object, ...]] = []


class KeepsRunningError(Exception):
    """Raised where the program would keep running."""


@pytest.fixture
def b200(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LabMachine:
    def leave() -> None:
        raise KeepsRunningError

    simulate_hardware(hardware_kinds.HGX_B200, monkeypatch)
    monkeypatch.setattr(fabricmanager_start, "NVLSM", str(tmp_path / "nvlsm"))
    monkeypatch.setattr(fabricmanager_start, "FABRICMANAGER", write_fabric_manager(tmp_path))
    monkeypatch.setattr(signal, "signal", lambda *arguments: SIGNAL_CALLS.append(arguments))
    SIGNAL_CALLS.clear()
    monkeypatch.setattr(signal, "pause", leave)
    made = lab_machine(tmp_path, monkeypatch)
    made.load(nvidia=VERSION)
    (tmp_path / "run").mkdir(exist_ok=True)
    return made


def write_subnet_manager(at: Path) -> Path:
    """A subnet manager that creates a file when it runs."""
    (at / "nvlsm").write_text(f"#!/bin/sh\ntouch {at}/ran\n")
    (at / "nvlsm").chmod(0o755)
    return at / "ran"


def write_fabric_manager(at: Path, code: int = 0) -> str:
    """A fabric manager that writes down how it is called."""
    (at / "fm").write_text(f'#!/bin/sh\necho "$*" >{at}/called\nexit {code}\n')
    (at / "fm").chmod(0o755)
    return str(at / "fm")


def start(mode: str = "start") -> int:
    return fabricmanager_start.main(["nvidia-fabricmanager-start.sh", "--mode", mode], VERSION)


@pytest.mark.usefixtures("b200")
@pytest.mark.parametrize("mode", ["precheck", "start"])
def test_the_fabric_manager_does_not_start_without_ib_umad(mode: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_subnet_manager(tmp_path)
    assert start(mode) == 1
    assert 'Kernel module "ib_umad" has not been loaded, fabric manager cannot be started' in capsys.readouterr().err
    assert not (tmp_path / "called").exists()


def test_the_fabric_manager_does_not_start_without_a_subnet_manager(b200: LabMachine, capsys: pytest.CaptureFixture[str]) -> None:
    b200.load(ib_umad="")
    assert start() == 1
    assert "nvlsm: not found" in capsys.readouterr().err


def test_with_both_the_fabric_manager_is_started_beside_it(b200: LabMachine, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran = write_subnet_manager(tmp_path)
    b200.load(ib_umad="")
    assert start("precheck") == 0
    assert not ran.exists()
    assert start() == 0
    assert (tmp_path / "called").read_text() == f"-c {fabricmanager_start.CONFIG}\n"
    assert 'Started "Nvidia Fabric Manager"' in capsys.readouterr().out
    for _ in range(50):
        if ran.exists():
            return
        time.sleep(0.1)
    pytest.fail("the subnet manager was not started")


def test_a_fabric_manager_that_refuses_takes_the_subnet_manager_with_it(
    b200: LabMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nvlsm").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "nvlsm").chmod(0o755)
    b200.load(ib_umad="")
    monkeypatch.setattr(fabricmanager_start, "FABRICMANAGER", write_fabric_manager(tmp_path, code=3))
    began = time.monotonic()
    assert start() == 3
    assert time.monotonic() - began < 30


@pytest.mark.usefixtures("b200")
def test_other_boards_need_no_subnet_manager(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    simulate_hardware(hardware_kinds.HGX_H200, monkeypatch)
    assert start() == 0
    assert capsys.readouterr().out.startswith("Detected Pre-NVL5 system\n")


def test_an_unknown_mode_is_not_simulated(capsys: pytest.CaptureFixture[str]) -> None:
    assert start("stop") == 2
    assert "not simulated" in capsys.readouterr().err


@pytest.mark.usefixtures("b200")
@pytest.mark.parametrize("child", [0, 4711])
def test_the_fabric_manager_becomes_a_daemon(child: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fork", lambda: child)
    monkeypatch.setenv("FM_PID_FILE", str(tmp_path / "made" / "fm.pid"))
    if not child:
        with pytest.raises(KeepsRunningError):
            daemons.fabricmanager(VERSION)
        return
    assert daemons.fabricmanager(VERSION) == 0
    assert (tmp_path / "made" / "fm.pid").read_text() == "4711\n"
    assert (tmp_path / "run" / "fabric").read_text().strip() == "1"


def test_nvlsm_prints_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert nvlsm.main([fabricmanager_start.NVLSM, "--version"], "2025.10.12") == 0
    assert capsys.readouterr().out == "OpenSM 2025.10.12 (simulated)\n"
