"""Ends all processes of one run. A marker in their environment identifies them, because workers of Ansible leave its process group."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

_POLL_S = 0.05
_EMPTY_PASSES = 2
_UNKILLABLE_S = 5.0
_READS = 5


def find_processes(marker: str) -> set[int]:
    """Ids of all other processes whose environment contains `marker`; empty on systems without /proc."""
    pattern, own = marker.encode(), os.getpid()
    found: set[int] = set()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if int(entry.name) != own and pattern in _environment(entry):
                found.add(int(entry.name))
        except (OSError, ValueError):
            continue
    return found


def end_processes(marker: str, grace_s: float = 5.0) -> None:
    """Terminate all processes with `marker`, also those that start meanwhile; kill what still runs after `grace_s`.

    None is left when it returns, except one in uninterruptible sleep, for which it waits no longer than 5 s.
    """
    deadline = time.monotonic() + grace_s
    asked: set[int] = set()
    passes_without = 0
    while passes_without < _EMPTY_PASSES and time.monotonic() < deadline + _UNKILLABLE_S:
        left = find_processes(marker)
        if time.monotonic() < deadline:
            _signal(left - asked, signal.SIGTERM)
            asked |= left
        else:
            _signal(left, signal.SIGKILL)
        # a parent that forks and ends while /proc is read hides its child from one pass
        passes_without = 0 if left else passes_without + 1
        time.sleep(_POLL_S)


def _environment(entry: Path) -> bytes:
    """The environment of a process, which reads as empty while it executes another program."""
    for _ in range(_READS):
        environment = (entry / "environ").read_bytes()
        if environment or not _has_program(entry):
            return environment
        time.sleep(0.001)
    return b""


def _has_program(entry: Path) -> bool:
    """Whether it is neither a kernel thread nor a zombie."""
    try:
        return bool((entry / "exe").readlink())
    except FileNotFoundError:
        return False


def _signal(pids: set[int], number: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue
