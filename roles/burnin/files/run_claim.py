"""Which process carries out the plan of a folder: only one ever does, and whether it still does. Standard library, Python 3.8+.

The process keeps a lock until it ends. Its number alone proves nothing: a process that ended keeps it until its parent reaps it, which PID 1
of some containers never does, and later another process may have it.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

PID = "pid"
LOCK = "claim"


def claim(directory: Path) -> bool:
    """Whether this process is the first to carry out the plan; it keeps the lock from then on. Commands that it starts do not."""
    lock_fd = open_claim(directory)
    try:
        fcntl.flock(lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)  # before the link: who sees the link may try the lock
        (directory / PID).symlink_to(str(os.getpid()))
    except (BlockingIOError, FileExistsError):
        os.close(lock_fd)
        return False
    return True


def claimed(directory: Path) -> bool:
    """Whether a process has begun to carry out the plan, ended or not."""
    return (directory / PID).is_symlink()


def at_work(directory: Path) -> bool:
    """Whether the process that has begun to carry out the plan still runs."""
    if not claimed(directory):  # trying the lock could keep the process from taking it
        return False
    lock_fd = open_claim(directory)
    try:
        with suppress(BlockingIOError):
            fcntl.flock(lock_fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
        return True
    finally:
        os.close(lock_fd)


def open_claim(directory: Path) -> int:
    """The lock file, open to read and write: on NFS, as the root of a node without disks may be, an exclusive lock needs both (flock(2))."""
    return os.open(directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
