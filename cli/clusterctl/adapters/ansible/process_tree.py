"""Ends all processes of one run. A marker in their environment identifies them, because workers of Ansible leave its process group."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path


def find_processes(marker: str) -> set[int]:
    """Ids of all other processes whose environment contains `marker`; empty on systems without /proc."""
    pattern, own = marker.encode(), os.getpid()
    found: set[int] = set()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if int(entry.name) != own and pattern in (entry / "environ").read_bytes():
                found.add(int(entry.name))
        except (OSError, ValueError):
            continue
    return found


def end_processes(marker: str, grace_s: float = 5.0) -> None:
    """Terminate all processes with `marker`; kill those that still run after `grace_s`."""
    _signal(find_processes(marker), signal.SIGTERM)
    deadline = time.monotonic() + grace_s
    while (left := find_processes(marker)) and time.monotonic() < deadline:
        time.sleep(0.1)
    _signal(left, signal.SIGKILL)


def _signal(pids: set[int], number: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue
