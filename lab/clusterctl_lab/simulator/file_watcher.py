"""Reports writes to watched files and new files in watched folders, through inotify, or by polling if the host has no inotify instance left."""

from __future__ import annotations

import ctypes
import os
import struct

# Polling interval without inotify: all containers of a user share the host's limit of 128 instances.
POLL_S = 0.1
_CLOSE_WRITE = 0x8
_MOVED_TO = 0x80
_EVENT = struct.Struct("iIII")


class FileWatcher:
    """Watches paths. `fd` becomes readable on a change; if it is None, call `changed` every POLL_S seconds."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        number: int = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self.fd = number if number >= 0 else None
        self._paths: dict[int, str] = {}
        self._stamps: dict[str, tuple[int, int]] = {}

    def watch(self, path: str) -> None:
        """Watch a file or a folder.

        Raises:
            OSError: it does not exist.
        """
        if self.fd is None:
            self._stamps[path] = _stamp(path)
            return
        number = self._libc.inotify_add_watch(self.fd, path.encode(), _CLOSE_WRITE | _MOVED_TO)
        if number < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), path)
        self._paths[number] = path

    def changed(self) -> list[str]:
        """The watched paths that changed, each once, in order."""
        return self._poll() if self.fd is None else self._read_events(self.fd)

    def _poll(self) -> list[str]:
        found = [path for path, before in self._stamps.items() if _stamp(path) != before]
        self._stamps |= {path: _stamp(path) for path in found}
        return found

    def _read_events(self, fd: int) -> list[str]:
        try:
            data = os.read(fd, 65536)
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


def _stamp(path: str) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_mtime_ns, status.st_ino
