"""The processes that this one started, directly or not: what a run must not leave behind."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_PR_SET_CHILD_SUBREAPER = 36
_ENDED = "ZX"
_POLL_S = 0.05
_EMPTY_PASSES = 2
_UNKILLABLE_S = 5.0


def adopt_orphans() -> None:
    """From now on, what loses its parent becomes a child of this process, so that `descendants` finds it."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


def descendants() -> set[int]:
    """All processes below this one that have not ended, from /proc."""
    children: dict[int, list[int]] = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with suppress(OSError, ValueError):
                stat = Path(entry.path, "stat").read_text(encoding="utf-8", errors="replace")
                state, parent = stat.rpartition(")")[2].split()[:2]
                if state not in _ENDED:
                    children.setdefault(int(parent), []).append(int(entry.name))
    found: set[int] = set()
    waiting = list(children.get(os.getpid(), []))
    while waiting:
        one = waiting.pop()
        found.add(one)
        waiting += children.get(one, [])
    return found


def end_descendants(grace_s: float) -> None:
    """End all processes below this one, as `end_all` does."""
    end_all(descendants, grace_s)


def end_all(find: Callable[[], set[int]], grace_s: float) -> None:
    """Terminate the processes that `find` returns, also those that start meanwhile; kill what still runs after `grace_s`.

    None is left when it returns, except one in uninterruptible sleep, for which it waits no longer than 5 s.
    """
    deadline = time.monotonic() + grace_s
    signalled: set[int] = set()
    passes_without = 0
    while passes_without < _EMPTY_PASSES and time.monotonic() < deadline + _UNKILLABLE_S:
        left = find()
        if time.monotonic() < deadline:
            send(left - signalled, signal.SIGTERM)
            signalled |= left
        else:
            send(left, signal.SIGKILL)
        # a parent that forks and ends while /proc is read hides its child from one pass
        passes_without = 0 if left else passes_without + 1
        time.sleep(_POLL_S)


def send(pids: set[int], number: signal.Signals) -> None:
    """Send a signal to those that still exist."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
