"""Commands of the burn-in agent: their output, bounded, and their end with everything that they started. Standard library, Python 3.8+."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

OUTPUT_LIMIT = 512 * 1024
GRACE_S = 3.0
# For what a command leaves behind on purpose: the guard of a container removes it (roles/gpu_tools/templates/run-in-container.sh.j2).
LEFT_S = 6.0
# Linux, include/uapi/linux/prctl.h; see prctl(2).
PR_SET_CHILD_SUBREAPER = 36


class Output:
    """Reads a pipe to its end, passes it on, and keeps the first and last OUTPUT_LIMIT / 2 bytes."""

    def __init__(self, pipe: IO[bytes] | None, pass_on: Callable[[bytes], None] | None = None) -> None:
        self.pipe = pipe
        self.pass_on = pass_on
        self.head = b""
        self.tail = b""
        self.cut = 0
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self) -> None:
        half = OUTPUT_LIMIT // 2
        if self.pipe is None:
            return
        with self.pipe:
            while True:
                chunk = os.read(self.pipe.fileno(), 65536)
                if not chunk:
                    return
                if self.pass_on:
                    with suppress(OSError):  # whoever listens is gone; the record is kept all the same
                        self.pass_on(chunk)
                room = half - len(self.head)
                self.head += chunk[:room]
                self.tail += chunk[room:] if room > 0 else chunk
                over = len(self.tail) - half
                if over > 0:
                    self.cut += over
                    self.tail = self.tail[over:]

    def text(self) -> str:
        """The kept text. A pipe that a grandchild keeps open is abandoned after GRACE_S."""
        self.thread.join(GRACE_S)
        middle = f"\n[... {self.cut} bytes left out ...]\n".encode() if self.cut else b""
        return (self.head + middle + self.tail).decode("utf-8", "replace").replace("\x00", "\ufffd")


def kill_group(process: subprocess.Popen[bytes], number: int) -> None:
    """Send a signal to a command and all processes of its group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def kill_session(process: subprocess.Popen[bytes]) -> None:
    """End what a command left behind in groups of their own, as MPI starts its ranks."""
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):
            after_name = file.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            if int(after_name[3]) == process.pid:
                os.kill(int(file.parent.name), signal.SIGKILL)


def adopt_orphans() -> None:
    """Become the parent of whatever a command leaves behind, also in sessions of its own: works where systemd, and so a scope, is absent, too."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_orphans(stuck: frozenset[int]) -> frozenset[int]:
    """End what commands left behind, once no command runs. Returns what cannot be ended; `stuck` are those of earlier calls."""
    begun = time.monotonic()
    while True:
        left = children() - stuck
        late_s = time.monotonic() - begun - LEFT_S
        if not left or late_s > GRACE_S:
            return stuck | left
        for pid in left:
            with suppress(ProcessLookupError, ChildProcessError):
                if late_s > 0:
                    os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.05)


def children() -> frozenset[int]:
    """The children of this process."""
    found = set()
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):
            if int(file.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1]) == os.getpid():
                found.add(int(file.parent.name))
    return frozenset(found)


def ended_within(process: subprocess.Popen[bytes], limit_s: float) -> bool:
    """Whether a command ended by itself in time. The rest of its session is ended, with SIGTERM first and then SIGKILL."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(limit_s)
    ended = process.returncode is not None
    kill_group(process, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(GRACE_S)
    kill_group(process, signal.SIGKILL)
    kill_session(process)
    with suppress(subprocess.TimeoutExpired):  # in D state, on a hanging device, not even SIGKILL ends it
        process.wait(GRACE_S)
    return ended
