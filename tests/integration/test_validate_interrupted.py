"""Ctrl-C while a node does not answer."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from clusterctl.model.exit_codes import ExitCode
from support.roles import ROOT
from support.ssh_node import SshNode

if TYPE_CHECKING:
    from pathlib import Path

    from support.ssh_node import Process

DEADLINE_S = 60


async def hang(process: Process) -> None:
    await asyncio.Event().wait()


def test_ctrl_c_ends_the_run_immediately_and_is_recorded(tmp_path: Path) -> None:
    with SshNode(tmp_path / "node", hang) as node:
        site = node.write_site(tmp_path / "site")
        argv = [sys.executable, "-m", "clusterctl", "--state-dir", str(tmp_path / "state"), "validate", "n1"]
        argv += ["-i", str(ROOT / "inventory" / "common"), "-i", str(site)]
        env = {**os.environ, "PYTHONPATH": f"{ROOT}/cli:{ROOT}/tools:{ROOT}/validators", "HOME": str(tmp_path)}
        running = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
        deadline = time.monotonic() + DEADLINE_S
        while not node.commands and running.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        assert node.commands, running.communicate()
        began = time.monotonic()
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=30)
    assert running.returncode == ExitCode.INTERRUPTED, err
    assert time.monotonic() - began < 10
    assert out == ""
    assert "Traceback" not in err
    with sqlite3.connect(tmp_path / "state" / "clusterctl.db") as database:
        assert database.execute("select verb, status, exit_code from runs").fetchall() == [("validate", "interrupted", 9)]
