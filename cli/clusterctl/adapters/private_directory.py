"""A directory for files that must not outlive a run: in memory if possible, and deleted even after `kill -9`."""

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
_MIN_AGE_S = 60  # a directory that was created but not yet locked looks abandoned


@contextmanager
def private_dir() -> Iterator[Path]:
    """A new directory for this user only, deleted on exit. Also deletes the directories of killed runs."""
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
    """Delete directories that no process has locked; process ids would be wrong in another container."""
    for folder in parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):  # another user's, or deleted meanwhile
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
