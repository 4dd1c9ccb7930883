"""Streams the events of a run to the controller, from an offset on, for as long as the controller listens."""

from __future__ import annotations

import fcntl
import os
import select
import sys
import time
from typing import TYPE_CHECKING

from clusterctl_on_node.run_folder import EVENTS, open_lock

if TYPE_CHECKING:
    from pathlib import Path

EXIT_GONE = 98
ATTENDED = "attended"
READ = "read"
END = b'{"clusterctl_end": '
_POLL_S = 0.25
_KEEPALIVE_S = 10.0
_START_S = 30.0
_CHUNK = 1 << 16


def follow(folder: Path, offset: int) -> int:
    """Copy the events to stdout until the last line. Exit status: 0 when the controller has confirmed it, EXIT_GONE where there is no such run.

    It ends as soon as stdin does: the controller is gone then, and the run knows by the lock that nobody attends it.
    """
    try:
        attended = open_lock(folder / ATTENDED)
    except OSError:
        return EXIT_GONE
    with attended:
        fcntl.flock(attended, fcntl.LOCK_SH)  # waits: the run holds it for the moment in which it looks for a follower
        events = _opened(folder / EVENTS)
        if events < 0:
            return EXIT_GONE
        os.lseek(events, offset, os.SEEK_SET)
        if not _copy(events):
            return EXIT_GONE
        (folder / READ).touch()
        return 0


def _opened(path: Path) -> int:
    """A service takes a moment to begin."""
    until = time.monotonic() + _START_S
    while time.monotonic() < until:
        try:
            return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            time.sleep(_POLL_S)
    return -1


def _copy(events: int) -> bool:
    """Until the controller confirms the last line by a line of its own: True; False where it has gone."""
    out, quiet_since = sys.stdout.buffer, time.monotonic()
    while True:
        data = os.read(events, _CHUNK)
        if data or time.monotonic() - quiet_since > _KEEPALIVE_S:
            out.write(data or b"\n")
            out.flush()
            quiet_since = time.monotonic()
        # A pause after each piece: the controller pays for every packet, and events come one by one.
        readable, _, _ = select.select([0], [], [], 0 if len(data) == _CHUNK else _POLL_S)
        if readable:
            return bool(os.read(0, _CHUNK))
