"""Where the files of tests lie: stores and run directories wait thousands of times until a disk has written what they record."""

from __future__ import annotations

import os
from pathlib import Path

SHARED_MEMORY = Path("/dev/shm")
# Assumed: what tests leave until a run ends is far below it.
LEAST_FREE_BYTES = 4 << 30


def memory_folder(folder: Path = SHARED_MEMORY) -> Path | None:
    """A folder in memory that has room, and from which programs can be started; None where there is none."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return None
    usable = not found.f_flag & (os.ST_NOEXEC | os.ST_RDONLY) and os.access(folder, os.W_OK)
    return folder if usable and found.f_bavail * found.f_frsize >= LEAST_FREE_BYTES else None
