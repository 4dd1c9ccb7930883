"""Who else computes on this node's GPUs, or runs a job on it, while it is measured. Standard library, Python 3.8+.

Looks at /proc: processes that have a compute device open, and processes of a job scheduler. What is gone between two looks is not seen.
A run's own processes are the agent's descendants and, because a container's parent is its runtime, those that bear its mark.
A title and a name are what a process calls itself, so neither proves anything: a service or tool that may compute is one by a file that only root
writes, and a job's step runs as root.
"""

from __future__ import annotations

import os
import re
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from node_lock import bears

LOOK_S = 5.0
FRESH_S = 0.5
# Linux, include/linux/sched.h: PF_KTHREAD, in field 9 of /proc/PID/stat.
KERNEL_THREAD = 0x00200000
OTHERS_WRITE = 0o022
NO_RULES: dict[str, Any] = {"devices": [], "services": [], "jobs": ""}


class Process(NamedTuple):
    """A process.

    Attributes:
        parent: its parent's pid.
        name: of its program, for people.
        program: the same where only root writes the program's file, else empty.
        title: its command line, which it may change.
        of_root: it runs as root, or as the user of this agent.
    """

    pid: int
    parent: int
    name: str
    program: str
    title: str
    of_root: bool


class Sighting(NamedTuple):
    """A foreign process, when it was seen, and the programs of it and its ancestors."""

    at: float
    text: str
    names: frozenset[str]


class WatchEndedError(Exception):
    """The background thread has ended, so nobody knows who used the node since."""


class Watch:
    """Looks every LOOK_S seconds, and at the beginning and end of each step.

    Attributes:
        rules: `devices`: files that computing processes have open; `services`: programs that may; `jobs`: what titles of jobs look like.
        mark: of this run (node_lock.mark_of).
    """

    def __init__(self, rules: dict[str, Any], mark: str, proc: Path = Path("/proc"), own: int = 0) -> None:
        self.rules = rules
        self.mark = mark
        self.proc = proc
        self.own = own or os.getpid()
        self.seen: list[Sighting] = []
        self.lock = threading.Lock()
        self.over = threading.Event()
        self.looking = threading.Lock()
        self.looked = 0.0
        self.thread: threading.Thread | None = None

    def start(self) -> None:
        """Look in the background until `over` is set."""
        if self.rules["devices"] or self.rules["jobs"]:
            self.thread = threading.Thread(target=self._look_often, daemon=True)
            self.thread.start()

    def _look_often(self) -> None:
        while not self.over.wait(LOOK_S):
            self.look()

    def look(self) -> None:
        """Note every foreign process; once for steps that begin or end together."""
        with self.looking:
            if self.looked and time.monotonic() - self.looked < FRESH_S:
                return
            self._look()
            self.looked = time.monotonic()

    def _look(self) -> None:
        processes = {p.pid: p for p in self._processes()}
        found = []
        for process in processes.values():
            line = lineage(process, processes)
            if self.own in {p.pid for p in line}:
                continue
            what = self._what(process)
            if what and not bears(self.proc / str(process.pid), self.mark):
                names = frozenset(p.program for p in line)
                found.append(Sighting(time.monotonic(), f"pid {process.pid} ({process.name}) {what}", names))
        with self.lock:
            self.seen += found

    def foreign(self, since: float, shares_with: list[str]) -> str:
        """The foreign processes seen since a time, now included; those of some programs, and what these started, do not count.

        Raises:
            WatchEndedError: nobody looked in between.
        """
        self.look()
        if self.thread and not self.thread.is_alive() and not self.over.is_set():
            raise WatchEndedError("nobody watched who else used the node")
        with self.lock:
            texts = [s.text for s in self.seen if s.at >= since and not s.names & set(shares_with)]
        distinct = list(dict.fromkeys(texts))
        return ", ".join(distinct[:3]) + (f" and {len(distinct) - 3} more" if len(distinct) > 3 else "")  # noqa: PLR2004 a line's length

    def _what(self, process: Process) -> str:
        """What a process does that a measurement must be without; empty if nothing."""
        if self.rules["jobs"] and process.of_root and re.search(self.rules["jobs"], process.title):
            return "runs a job on this node"
        if process.program and process.program in self.rules["services"]:
            return ""
        devices = set(self.rules["devices"])
        with suppress(OSError):
            for entry in os.scandir(self.proc / str(process.pid) / "fd"):
                with suppress(OSError):
                    if os.readlink(entry.path) in devices:  # noqa: PTH115 Python 3.8
                        return "computes on the GPUs"
        return ""

    def _processes(self) -> list[Process]:
        found = []
        for folder in self.proc.glob("[0-9]*"):
            with suppress(OSError, ValueError, IndexError):
                stat = (folder / "stat").read_text(encoding="utf-8", errors="replace")
                comm, _, rest = stat.partition("(")[2].rpartition(")")
                words = rest.split()
                if not int(words[6]) & KERNEL_THREAD:
                    title = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
                    name = program_name(folder, comm)
                    program = name if is_roots(folder / "exe") else ""
                    found.append(Process(int(folder.name), int(words[1]), name, program, title, folder.stat().st_uid in (0, os.geteuid())))
        return found


def program_name(folder: Path, comm: str) -> str:
    """The name of a process's program; the kernel's own, of 15 characters, where its file is not known."""
    try:
        return os.path.basename(os.readlink(folder / "exe")).partition(" ")[0]  # noqa: PTH115, PTH119 Python 3.8
    except OSError:
        return comm


def is_roots(program: Path) -> bool:
    """Whether only root, or the user of this agent, may write the file; `/proc/PID/exe` leads to the file itself, in a container, too."""
    try:
        found = program.stat()
    except OSError:
        return False
    return found.st_uid in (0, os.geteuid()) and not found.st_mode & OTHERS_WRITE


def lineage(process: Process, processes: dict[int, Process]) -> list[Process]:
    """A process and its ancestors."""
    line = [process]
    while line[-1].parent in processes and processes[line[-1].parent] not in line:
        line.append(processes[line[-1].parent])
    return line
