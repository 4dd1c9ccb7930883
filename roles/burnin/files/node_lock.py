"""The lock of a node: one burn-in at a time; and the mark of what a burn-in started. Standard library, Python 3.8+."""

from __future__ import annotations

import fcntl
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from child_process import GRACE_S

MARK = "CLUSTERCTL_BURNIN_LOCK"


def mark_of(path: str, owner: str) -> str:
    """The value of MARK in the environment of a run's commands.

    By it, what they start is known as the run's, also where it lacks the lock, as MPI's ranks do, or has another parent, as in containers.
    """
    return f"{owner}:{path}"


def bears(process: Path, mark: str) -> bool:
    """Whether a process (its folder in /proc) has the mark."""
    with suppress(OSError):  # gone, or another user's
        return f"{MARK}={mark}".encode() in (process / "environ").read_bytes().split(b"\0")
    return False


def lock_node(path: str, owner: str) -> tuple[int, str]:
    """The node's lock, or its holder. An owner has one run at a time on a node, so remains of its previous run are ended."""
    lock_fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    for number in (signal.SIGTERM, signal.SIGKILL):
        if take(lock_fd, 0.0):
            break
        holder = os.pread(lock_fd, 500, 0).decode("utf-8", "replace")
        if not holder.startswith(f"owner {owner}, "):
            return lock_fd, holder.partition(", ")[2] or "unknown"
        for pid in holders(path):
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        take(lock_fd, 3 * GRACE_S)
    return lock_fd, "" if take(lock_fd, 0.0) and without_remains(path, owner) else "its previous run cannot be ended"


def without_remains(path: str, owner: str) -> bool:
    """Whether nothing is left of what the owner's previous run started, now that its agent is gone. What does not end by itself is ended."""
    if gone(path, owner):  # a container of that run is removed by its guard, which needs a moment
        return True
    for pid in remains(path, owner):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return gone(path, owner)


def gone(path: str, owner: str) -> bool:
    """Whether nothing is left within GRACE_S."""
    until = time.monotonic() + GRACE_S
    while remains(path, owner):
        if time.monotonic() >= until:
            return False
        time.sleep(0.1)
    return True


def remains(path: str, owner: str) -> list[int]:
    """The processes that bear the owner's mark."""
    mark = mark_of(path, owner)
    return [int(p.name) for p in Path("/proc").glob("[0-9]*") if bears(p, mark) and int(p.name) != os.getpid()]


def take(lock_fd: int, patience_s: float) -> bool:
    """Whether the lock was acquired within `patience_s`."""
    until = time.monotonic() + patience_s
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        if time.monotonic() >= until:
            return False
        time.sleep(0.1)


def holders(path: str) -> list[int]:
    """The processes that have the lock open: an agent, or commands that a killed agent left running."""
    found = set()
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        with suppress(OSError):
            if os.readlink(link) == os.path.realpath(path):  # noqa: PTH115 Python 3.8
                found.add(int(link.parts[2]))
    return sorted(found - {os.getpid()})
