"""A folder for what must not outlive a run: in memory where that is possible, and cleared away even after `kill -9`."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_PREFIX = "clusterctl-run-"
_LOCK = ".lock"
_MIN_AGE_S = 60  # between its making and its locking, a folder looks abandoned


@contextmanager
def private_dir() -> Iterator[Path]:
    """A new folder for this user only, gone afterwards. Folders of killed runs are removed on the way."""
    parent = _memory_dir()
    _remove_abandoned(parent)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
    with (folder / _LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned(parent: Path) -> None:
    """Remove folders of ours that nobody holds; the lock tells, for process ids mean nothing in another container."""
    for folder in parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):  # somebody else's, or just gone
            status = folder.lstat()
            if status.st_uid != os.getuid() or time.time() - status.st_mtime < _MIN_AGE_S:
                continue
            with (folder / _LOCK).open("r+") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)


def _memory_dir() -> Path:
    for candidate in (os.environ.get("XDG_RUNTIME_DIR"), "/dev/shm"):  # noqa: S108 the folder made in it is 0700 and unique
        with suppress(OSError):
            if candidate and os.access(candidate, os.W_OK) and os.statvfs(candidate).f_bavail > 0:
                return Path(candidate)
    return Path(tempfile.gettempdir())
