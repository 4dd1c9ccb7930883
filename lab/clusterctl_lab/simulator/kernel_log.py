"""The kernel log of this machine: lines go to journald through the pipe /dev/kmsg and to the file that dmesg prints."""

from __future__ import annotations

import fcntl
import os
import sys
import termios
import time

from .state import RUN

RING = f"{RUN}/dmesg"
KMSG = "/dev/kmsg"
_LEVELS = {"err": 3, "warn": 4, "notice": 5, "info": 6}


class KernelLog:
    """Writes the log. Only the supervisor has an instance.

    journald treats the result of one read as one record, so a line is written to the pipe only when the pipe is empty.
    """

    def __init__(self) -> None:
        self._pipe = os.open(KMSG, os.O_RDWR | os.O_NONBLOCK)  # kept open, so that writing never blocks
        self._waiting: list[bytes] = []
        self._number = 0  # journald notes that it missed messages where a number is left out

    def log(self, text: str, level: str = "info") -> None:
        """Write one line to dmesg's file immediately and to journald when it has read the previous lines."""
        seconds = time.clock_gettime(time.CLOCK_BOOTTIME)
        priority = _LEVELS[level]
        with open(RING, "a", encoding="utf-8") as ring:
            ring.write(f"{priority} {time.time():.6f} {seconds:.6f} {text}\n")
        self._waiting.append(f"{priority},{self._number},{int(seconds * 1e6)},-;{text}\n".encode())
        self._number += 1

    def pump(self) -> bool:
        """Send a waiting line if journald is ready. Returns whether more lines wait."""
        unread = bytearray(4)
        fcntl.ioctl(self._pipe, termios.FIONREAD, unread)
        if self._waiting and not int.from_bytes(unread, sys.byteorder):
            os.write(self._pipe, self._waiting.pop(0))
        return bool(self._waiting)


def xid_line(bus_id: str, code: int, text: str) -> str:
    """The driver's message for an XID: `NVRM: Xid (PCI:0000:53:00): 79, ...`."""
    return f"NVRM: Xid (PCI:{bus_id[4:].lower().rpartition('.')[0]}): {code}, {text}"
