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
_SEND_S = 1.0
_KEEPALIVE_S = 10.0
_START_S = 30.0
_CHUNK = 1 << 16


def follow(folder: Path, offset: int) -> int:
    """Copy the events to stdout until the last line. Exit status: 0 when the controller has confirmed it, EXIT_GONE where there is no such run.

    It ends as soon as stdin does: the controller is gone then, and the run detects by the lock that nobody attends it.
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


class Pieces:
    """What is sent at once: the controller pays for every packet, and events come one by one. The last line waits for nothing."""

    def __init__(self, now_s: float) -> None:
        self._waiting, self._sent_s = b"", now_s

    def take(self, data: bytes, now_s: float) -> bytes:
        """What to send now, with `data` that was just read; an empty line as a sign of life where nothing was sent for long."""
        self._waiting += data
        quiet_s = now_s - self._sent_s
        if quiet_s < _SEND_S and len(self._waiting) < _CHUNK and END not in self._waiting:
            return b""
        if not self._waiting and quiet_s <= _KEEPALIVE_S:
            return b""
        piece, self._waiting, self._sent_s = self._waiting or b"\n", b"", now_s
        return piece


def _copy(events: int) -> bool:
    """Until the controller confirms the last line by a line of its own: True; False where it has gone."""
    out, pieces = sys.stdout.buffer, Pieces(time.monotonic())
    while True:
        data = os.read(events, _CHUNK)
        piece = pieces.take(data, time.monotonic())
        if piece:
            out.write(piece)
            out.flush()
        readable, _, _ = select.select([0], [], [], 0 if len(data) == _CHUNK else _POLL_S)
        if readable:
            return bool(os.read(0, _CHUNK))
