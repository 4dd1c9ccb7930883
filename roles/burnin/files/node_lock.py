"""The lock of a node: one burn-in at a time; and the mark of what a burn-in started. Standard library, Python 3.8+."""

from __future__ import annotations

import fcntl
import glob
import os
import signal
import stat
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
    """The node's lock, or why it is not ours. An owner has one run at a time on a node, so remains of its previous run are ended."""
    try:
        lock_fd = open_own(path)
    except OSError as e:
        return -1, f"the lock of this node cannot be used: {e}"
    for number in (signal.SIGTERM, signal.SIGKILL):
        if take(lock_fd, 0.0):
            break
        holder = os.pread(lock_fd, 500, 0).decode("utf-8", "replace")
        if not holder.startswith(f"owner {owner}, "):
            return lock_fd, f"another burn-in runs on this node ({holder.partition(', ')[2] or 'unknown'})"
        for pid in holders(path):
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        take(lock_fd, 3 * GRACE_S)
    return lock_fd, "" if take(lock_fd, 0.0) and without_remains(
        path, owner
    ) else "another burn-in runs on this node (its previous run cannot be ended)"


def open_own(path: str) -> int:
    """The lock file, open; its folder is made, for this user alone.

    Where other users may write, a link would lead root to a file of theirs, and their lock would keep the node from being measured.

    Raises:
        PermissionError: the folder or the file is another user's, or others may write there.
        OSError: the file is a link (ELOOP), or cannot be opened.
    """
    folder = os.path.dirname(path)  # noqa: PTH120 os.open follows no pathlib
    with suppress(FileExistsError):
        os.mkdir(folder, 0o700)  # noqa: PTH102
    lock_fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    for found, is_kind in ((os.lstat(folder), stat.S_ISDIR), (os.fstat(lock_fd), stat.S_ISREG)):
        if not is_kind(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
            os.close(lock_fd)
            raise PermissionError(f"{path}: others may write there")
    return lock_fd


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
    for link in glob.iglob("/proc/[0-9]*/fd/*"):  # noqa: PTH207 Path.glob raises where a process ends under its hands
        with suppress(OSError):
            if os.readlink(link) == os.path.realpath(path):  # noqa: PTH115 Python 3.8
                found.add(int(link.split("/")[2]))
    return sorted(found - {os.getpid()})
