"""The fabric manager of boards with fourth-generation NVSwitches needs a subnet manager and its kernel module."""

from __future__ import annotations

import signal
import socket
import time
from typing import TYPE_CHECKING

import pytest

from clusterctl_lab.simulator import daemons, hardware_kinds, nvlsm
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
    monkeypatch.setattr(daemons, "NVLSM", str(tmp_path / "nvlsm"))
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


@pytest.mark.usefixtures("b200")
def test_the_fabric_manager_does_not_start_without_ib_umad(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_subnet_manager(tmp_path)
    assert daemons.fabricmanager(VERSION) == 1
    assert 'Kernel module "ib_umad" has not been loaded, fabric manager cannot be started' in capsys.readouterr().err


def test_the_fabric_manager_does_not_start_without_a_subnet_manager(b200: LabMachine, capsys: pytest.CaptureFixture[str]) -> None:
    b200.load(ib_umad="")
    assert daemons.fabricmanager(VERSION) == 1
    assert "nvlsm: not found" in capsys.readouterr().err


def test_with_both_the_fabric_manager_runs_and_notifies_systemd(b200: LabMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = write_subnet_manager(tmp_path)
    b200.load(ib_umad="")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        systemd.settimeout(5)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        with pytest.raises(KeepsRunningError):
            daemons.fabricmanager(VERSION)
        assert systemd.recv(64) == b"READY=1"
    assert (signal.SIGCHLD, signal.SIG_IGN) in SIGNAL_CALLS, "a subnet manager that ended would become a zombie"
    for _ in range(50):
        if ran.exists():
            return
        time.sleep(0.1)
    pytest.fail("the subnet manager was not started")


@pytest.mark.usefixtures("b200")
def test_other_boards_need_no_subnet_manager(monkeypatch: pytest.MonkeyPatch) -> None:
    simulate_hardware(hardware_kinds.HGX_H200, monkeypatch)
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    with pytest.raises(KeepsRunningError):
        daemons.fabricmanager(VERSION)


def test_nvlsm_prints_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert nvlsm.main([daemons.NVLSM, "--version"], "2025.10.12") == 0
    assert capsys.readouterr().out == "OpenSM 2025.10.12 (simulated)\n"
