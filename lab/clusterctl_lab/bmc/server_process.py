"""Starts and stops the process that serves a lab's BMCs."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from clusterctl.model.errors import LabError
from clusterctl_lab.bmc.certificate import write_certificate
from clusterctl_lab.layout import BMC_PORT, LabNode, LabPaths

if TYPE_CHECKING:
    from collections.abc import Sequence

_START_S = 15.0
_MODULE = "clusterctl_lab.bmc"


def running_server(paths: LabPaths) -> tuple[int, list[str]]:
    """The process id and the nodes that it serves; (0, []) if none runs. A process id that was reused does not count."""
    try:
        pid = int(paths.bmc_pid.read_text(encoding="ascii"))
        words = Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8").split("\0")
    except (OSError, ValueError):
        return 0, []
    if _MODULE not in words or str(paths.root) not in words:
        return 0, []
    return pid, [w for w in words[words.index(str(paths.root)) + 1 :] if w]


def ensure_serving(paths: LabPaths, nodes: Sequence[LabNode]) -> None:
    """Serve the BMCs of exactly these nodes. A process that already does so keeps running.

    Raises:
        LabError: the process does not start.
    """
    names = [n.name for n in nodes]
    if running_server(paths)[1] == names:
        return
    stop_server(paths)
    if not nodes:
        return
    write_certificate(paths.bmc_certificate, paths.bmc_key, [n.bmc_address for n in nodes])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    with paths.bmc_log.open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", _MODULE, str(paths.root), *names],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env=environment,
        )
    paths.bmc_pid.write_text(str(process.pid), encoding="ascii")
    deadline = time.monotonic() + _START_S
    while not all(_listens(n) for n in nodes):
        if process.poll() is not None or time.monotonic() > deadline:
            raise LabError(detail="the BMC process did not start", hint=f"see {paths.bmc_log}")
        time.sleep(0.05)


def stop_server(paths: LabPaths) -> None:
    """Stop the process by its id."""
    pid = running_server(paths)[0]
    if pid:
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + _START_S
        while not _ended(paths, pid) and time.monotonic() < deadline:
            time.sleep(0.02)
    paths.bmc_pid.unlink(missing_ok=True)


def _ended(paths: LabPaths, pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:  # started by an earlier command and reaped by init
        return running_server(paths)[0] == 0


def _listens(node: LabNode) -> bool:
    try:
        with socket.create_connection((node.bmc_address, BMC_PORT), timeout=1):
            return True
    except OSError:
        return False
