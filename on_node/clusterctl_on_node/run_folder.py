"""The folder of one run on the node: in memory, readable by root only, gone when the run has ended."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path
from typing import IO

EXIT_NO_MEMORY_FOLDER = 97
MEMORY_FOLDERS = ("/run", "/dev/shm")  # noqa: S108 the folder made in it belongs to root and is checked
EVENTS = "events"
REQUEST = "request"
STOP = "stop"
_NAME = "clusterctl-apply"
_TMPFS = frozenset({"tmpfs", "ramfs"})


class RefusedError(Exception):
    """The run cannot start here; `code` gives the controller the reason."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


def root_folder(mounts: str | None = None) -> Path:
    """The folder of all runs, in memory, because it holds secrets for a moment.

    Raises:
        RefusedError: nothing is in memory here, or the folder is not only root's.
    """
    kinds = _file_systems(Path("/proc/self/mounts").read_text(encoding="utf-8") if mounts is None else mounts)
    place = next((p for p in MEMORY_FOLDERS if kinds.get(p) in _TMPFS), None)
    if place is None:
        raise RefusedError(EXIT_NO_MEMORY_FOLDER, f"none of {', '.join(MEMORY_FOLDERS)} is in memory")
    folder = Path(place) / _NAME
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise RefusedError(EXIT_NO_MEMORY_FOLDER, f"{folder} is not a folder of this user alone")
    return folder


def remove(folder: Path) -> None:
    """Delete the folder of a run and everything in it."""
    shutil.rmtree(folder, ignore_errors=True)


def open_lock(path: Path) -> IO[str]:
    """The lock file, never through a link."""
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600), "r+", encoding="utf-8")


def try_lock(file: IO[str]) -> bool:
    """Whether the lock is ours now."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _file_systems(mounts: str) -> dict[str, str]:
    """Mount point -> kind of file system; the last mount on a point counts."""
    rows = (line.split(maxsplit=3)[1:3] for line in mounts.splitlines())
    return dict(rows)
