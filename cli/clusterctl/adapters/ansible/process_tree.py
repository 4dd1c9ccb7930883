"""Ends all processes of one run. A marker in their environment identifies them, because workers of Ansible leave its process group."""

from __future__ import annotations

import os
import time
from pathlib import Path

from clusterctl_on_node.processes import end_all

_READS = 5


def find_processes(marker: str) -> set[int]:
    """Ids of all other processes whose environment contains `marker`; empty on systems without /proc."""
    pattern, own = marker.encode(), os.getpid()
    found: set[int] = set()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if int(entry.name) != own and pattern in read_of_process(entry, "environ"):
                found.add(int(entry.name))
        except (OSError, ValueError):
            continue
    return found


def end_processes(marker: str, grace_s: float = 5.0) -> None:
    """End all processes with `marker`: none is left when it returns (`end_all`)."""
    end_all(lambda: find_processes(marker), grace_s)


def read_of_process(entry: Path, name: str) -> bytes:
    """Environment or command line of a process, which read as empty while it executes another program: for a moment after it was started, too.

    Raises:
        OSError: it ended, or belongs to another user.
    """
    for _ in range(_READS):
        found = (entry / name).read_bytes()
        if found or not _has_program(entry):
            return found
        time.sleep(0.001)
    return b""


def _has_program(entry: Path) -> bool:
    """Whether it is neither a kernel thread nor a zombie."""
    try:
        return bool((entry / "exe").readlink())
    except FileNotFoundError:
        return False
