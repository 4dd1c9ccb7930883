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

from clusterctl.adapters.ansible.process_tree import read_of_process
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
    except (OSError, ValueError):
        return 0, []
    root, names = _served_by(Path(f"/proc/{pid}"))
    return (pid, names) if root == str(paths.root) else (0, [])


def ensure_serving(paths: LabPaths, nodes: Sequence[LabNode]) -> None:
    """Serve the BMCs of exactly these nodes. A process that already does so keeps running.

    Raises:
        LabError: the process does not start, or another one has an address of these nodes.
    """
    names = [n.name for n in nodes]
    if running_server(paths)[1] == names:
        return
    stop_server(paths)
    if not nodes:
        return
    _require_free(nodes)
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


def _require_free(nodes: Sequence[LabNode]) -> None:
    """What listens there now would be taken for the new process, which ends because it cannot listen."""
    taken = next((n for n in nodes if _listens(n)), None)
    if taken is None:
        return
    for process in Path("/proc").glob("[0-9]*"):
        root, names = _served_by(process)
        if taken.name in names:
            detail = f"the lab in {root} serves the BMC of {taken.name} ({taken.bmc_address}:{BMC_PORT})"
            raise LabError(
                detail=detail,
                hint=f"take that rack down (`clusterctl lab down` in its site); if the site is gone, end process {process.name}",
            )
    raise LabError(
        detail=f"another program listens on {taken.bmc_address}:{BMC_PORT}, where the BMC of {taken.name} is served",
        hint="end it, or give the rack another number",
    )


def _served_by(process: Path) -> tuple[str, list[str]]:
    """The lab whose BMCs a process serves, and their nodes; ("", []) of any other."""
    try:
        words = os.fsdecode(read_of_process(process, "cmdline")).split("\0")
    except OSError:
        return "", []
    if _MODULE not in words:
        return "", []
    root, *names = words[words.index(_MODULE) + 1 :] or [""]
    return root, [name for name in names if name]


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
