"""The health agent that a site requires."""

from __future__ import annotations

import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl_validators import health_agent
from clusterctl_validators.finding import GOOD, Outcome
from clusterctl_validators.probe import CommandResult, Probe
from clusterctl_validators.record import Record
from clusterctl_validators.spec_view import SpecView
from clusterctl_validators.test_monitoring import test_health_agent as check_agent
from support.checks import InventedNode, write_files
from support.gpu_node import declared, systemctl, unit

if TYPE_CHECKING:
    from pathlib import Path

HEALTHZ = f"python3 -I -c {health_agent.FETCH} {health_agent.GPUD_HEALTH} 10"
SOCKET = health_agent.SOCKETS[1]
CONNECT = f"python3 -I -c {health_agent.CONNECT} {SOCKET} 10"
REFUSED = CommandResult(1, stderr="Traceback\nConnectionRefusedError: [Errno 111] Connection refused\n")


def bad(root: Path, agent: str, commands: dict[str, Any]) -> dict[str, str]:
    record = Record("monitoring")
    check_agent(SpecView("monitoring", declared("monitoring", monitoring_health_agent=agent)), record, Probe(InventedNode(root, commands)))
    assert record.findings
    found = {f.check.removeprefix("monitoring.health_agent."): f for f in record.findings if f.outcome not in GOOD}
    return {name: "could not run" if f.outcome is Outcome.COULD_NOT_RUN else f.found for name, f in found.items()}


def test_no_agent_is_required_by_default(tmp_path: Path) -> None:
    assert bad(tmp_path, "", {}) == {}


@pytest.mark.parametrize(
    ("changed", "faults"),
    [
        ({}, {}),
        ({HEALTHZ: REFUSED}, {"answers": "ConnectionRefusedError: [Errno 111] Connection refused"}),
        ({HEALTHZ: CommandResult(None, error="timed out after 15 s")}, {"answers": "could not run"}),
        ({systemctl("gpud.service"): unit("failed", "disabled")}, {"running": "failed", "persisted": "disabled"}),
    ],
)
def test_gpud(tmp_path: Path, changed: dict[str, Any], faults: dict[str, str]) -> None:
    assert bad(tmp_path, "gpud", {systemctl("gpud.service"): unit(), HEALTHZ: "200\n", **changed}) == faults


def test_nvsentinel_is_found_by_its_socket(tmp_path: Path) -> None:
    assert bad(tmp_path, "nvsentinel", {CONNECT: "connected\n"})["running"].startswith("neither /run/nvsentinel.sock nor")
    write_files(tmp_path, {SOCKET: ""})
    assert bad(tmp_path, "nvsentinel", {CONNECT: "connected\n"}) == {}
    # A socket that outlived its pod.
    assert bad(tmp_path, "nvsentinel", {CONNECT: REFUSED}) == {"answers": "ConnectionRefusedError: [Errno 111] Connection refused"}


def test_the_program_connects_to_a_real_socket(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    argv = [sys.executable, "-I", "-c", health_agent.CONNECT, path, "5"]
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()
        assert subprocess.run(argv, capture_output=True, text=True, check=True).stdout == "connected\n"
    assert "refused" in subprocess.run(argv, capture_output=True, text=True, check=False).stderr
