"""The processes that this one started, directly or not: what a run must not leave behind."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import signal

_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """From now on, what loses its parent becomes a child of this process, so that `descendants` finds it."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


def descendants() -> list[int]:
    """All processes below this one, from /proc."""
    children: dict[int, list[int]] = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with suppress(OSError, ValueError):
                stat = Path(entry.path, "stat").read_text(encoding="utf-8", errors="replace")
                children.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(entry.name))
    found: list[int] = []
    waiting = list(children.get(os.getpid(), []))
    while waiting:
        one = waiting.pop()
        found.append(one)
        waiting += children.get(one, [])
    return found


def send(pids: list[int], number: signal.Signals) -> None:
    """Send a signal to those that still exist."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
