"""inotify: which watched file was written and closed, or moved into a watched folder."""

from __future__ import annotations

import ctypes
import os
import struct

_CLOSE_WRITE = 0x8
_MOVED_TO = 0x80
_EVENT = struct.Struct("iIII")


class Watcher:
    """`fileno` can be selected on; `changed` then tells the paths."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd: int = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1")
        self._paths: dict[int, str] = {}

    def fileno(self) -> int:
        """For select."""
        return self._fd

    def watch(self, path: str) -> None:
        """Watch a file or a folder. OSError if it is not there."""
        number = self._libc.inotify_add_watch(self._fd, path.encode(), _CLOSE_WRITE | _MOVED_TO)
        if number < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), path)
        self._paths[number] = path

    def changed(self) -> list[str]:
        """The watched paths that something happened to, each once, in order."""
        try:
            data = os.read(self._fd, 65536)
        except BlockingIOError:
            return []
        found: dict[str, None] = {}
        at = 0
        while at < len(data):
            number, _mask, _cookie, length = _EVENT.unpack_from(data, at)
            at += _EVENT.size + length
            if number in self._paths:
                found[self._paths[number]] = None
        return list(found)
