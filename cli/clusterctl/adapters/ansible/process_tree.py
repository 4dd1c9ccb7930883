"""Ends every process of one run, found by a marker in its environment: ansible's workers leave its process group."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path


def find(marker: str) -> set[int]:
    """Ids of the processes whose environment holds `marker`, this one excepted; empty where there is no /proc."""
    wanted, own = marker.encode(), os.getpid()
    found: set[int] = set()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if int(entry.name) != own and wanted in (entry / "environ").read_bytes():
                found.add(int(entry.name))
        except (OSError, ValueError):
            continue
    return found


def end(marker: str, grace_s: float = 5.0) -> None:
    """Ask all processes with `marker` to end, then kill those that are left after `grace_s`."""
    _signal(find(marker), signal.SIGTERM)
    deadline = time.monotonic() + grace_s
    while (left := find(marker)) and time.monotonic() < deadline:
        time.sleep(0.1)
    _signal(left, signal.SIGKILL)


def _signal(pids: set[int], number: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue
