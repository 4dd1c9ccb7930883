"""The zone trusted of the simulated firewalld, as firewall-cmd(1) shows and changes it."""

from __future__ import annotations

from subprocess import CompletedProcess
from typing import TYPE_CHECKING

import pytest

from clusterctl_lab.simulator import firewall_cmd

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(firewall_cmd, "PERMANENT", str(tmp_path / "permanent"))
    monkeypatch.setattr(firewall_cmd, "RUNTIME", str(tmp_path / "runtime"))
    monkeypatch.setattr("subprocess.run", lambda *_, **__: CompletedProcess([], 0))


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert firewall_cmd.main(["firewall-cmd", *words]) == 0
    return capsys.readouterr().out.strip()


@pytest.mark.usefixtures("running")
def test_runtime_and_files_are_changed_apart(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "--state") == "running"
    assert said(capsys, "--zone=trusted", "--list-sources") == ""
    assert said(capsys, "--zone=trusted", "--change-source=10.0.0.0/8") == "success"
    assert said(capsys, "--zone=trusted", "--change-source=10.0.0.0/8") == "success"
    assert said(capsys, "--zone=trusted", "--list-sources") == "10.0.0.0/8"
    assert said(capsys, "--zone=trusted", "--list-sources", "--permanent") == ""
    assert said(capsys, "--zone=trusted", "--change-interface=ens10np0", "--permanent") == "success"
    assert said(capsys, "--zone=trusted", "--list-interfaces", "--permanent") == "ens10np0"
    assert said(capsys, "--zone=trusted", "--remove-source=10.0.0.0/8") == "success"
    assert said(capsys, "--zone=trusted", "--list-sources") == ""


def test_without_the_daemon_nothing_is_shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("subprocess.run", lambda *_, **__: CompletedProcess([], 3))
    assert firewall_cmd.main(["firewall-cmd", "--state"]) == 252
    assert capsys.readouterr().out == "not running\n"
