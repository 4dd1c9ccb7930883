"""Writes, reads and locks files on a shared file system, on all nodes of a group at the same time, and prints one JSON object per line.

storage_throughput.py --mount PATH --folder F --key K --index I --count N --files F --file-mib M --small-files S --asks A --phase-s P --limit-s L

It runs beside plan.json of the burn-in, whose secret names the folder of the run: F/run-.../I below the mount, which is removed at the end. Node I reads
what it wrote itself and a file of the node after it, with which it shares locks and marks, too. Standard library, Python 3.8.
"""

from __future__ import annotations

import argparse
import errno
import hashlib
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from file_barrier import AloneError, FileBarrier
from shared_folder import FOLDER, MOUNTS, NotMountedError, open_mount
from storage_files import Checkpoint, small_files
from storage_sharing import Exchange, LockPair, make_marks

if TYPE_CHECKING:
    from collections.abc import Callable

SCHEMA_VERSION = 1
NOT_MOUNTED, IO_ERROR, ALONE, NO_SPACE = 3, 4, 5, 6
PHASES = 9
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
# What is left of the time limit for the end; twice of it for the first node.
END_S = 20
# Beside the time of a phase, for the flushing of what it wrote.
WAIT_S = 60
LEAST_SHARE_FREE = 2


class NoSpaceError(Exception):
    """What all nodes together would write does not fit twice."""


class Measurement:
    """One node's part, in the phases of the group."""

    def __init__(self, options: argparse.Namespace, barrier: FileBarrier, secret: str) -> None:
        self.options, self.barrier, self.secret = options, barrier, secret
        self.following = (options.index + 1) % options.count
        self.stop = threading.Event()
        self.until = time.monotonic() + options.limit_s - (END_S if options.index else 2 * END_S)
        self.broken: set[str] = set()

    def run(self) -> None:
        """All phases; an error in one is printed, and the node goes on with the next one, for the others wait for it."""
        options, barrier = self.options, self.barrier
        barrier.enter(self.wait_until())
        checkpoint = self.checkpoint(barrier.own, options.index, options.files)
        locks = LockPair(barrier, self.following)
        # What the other nodes look for: without it, this node leaves.
        make_marks(barrier.own)
        locks.make()
        checkpoint.prepare()
        self.meet()
        self.attempt("write", lambda: emit(phase="write", **checkpoint.write()))
        self.meet()
        self.attempt("read", lambda: emit(phase="read", **checkpoint.read()), needs="write")
        self.meet()
        self.attempt("other_read", lambda: emit(phase="other_read", **self.read_other()))
        self.meet()
        self.attempt("small_files", lambda: emit(phase="small_files", **small_files(barrier.own, options.small_files, options.phase_s)))
        self.meet()
        self.attempt("lock", locks.hold)
        self.meet()
        self.attempt("lock", locks.ask_while_held)
        self.meet()
        self.attempt("lock", locks.release)
        self.meet()
        self.attempt("lock", locks.ask_when_free)
        for kind, found in locks.found.items():
            emit(phase="lock", kind=kind, **found)
        self.attempt("seen", lambda: emit(phase="seen", **Exchange(barrier, options.asks).run(options.phase_s, self.stop)))
        self.meet()

    def checkpoint(self, folder: int, number: int, files: int) -> Checkpoint:
        """The files of a node, whose content every node of the run knows."""
        content = hashlib.shake_256(f"{self.secret} {number}".encode()).digest(Checkpoint.CONTENT)
        options = self.options
        return Checkpoint(folder, content, files=files, file_mib=options.file_mib, seconds=options.phase_s, stop=self.stop)

    def read_other(self) -> dict[str, Any]:
        """Read the first file of the next node, of which this one has nothing in its cache."""
        folder = os.open(str(self.following), FOLDER, dir_fd=self.barrier.run)
        other = self.checkpoint(folder, self.following, 1)
        other.find()
        other.prepare()
        return other.read()

    def attempt(self, phase: str, work: Callable[[], None], needs: str = "") -> None:
        """Do a phase or a part of one, and print the first error of the file system in it."""
        if needs in self.broken:
            return
        try:
            work()
        except OSError as e:
            if phase not in self.broken:
                emit(phase=phase, error=code_of(e), detail=e.strerror or str(e))
            self.broken.add(phase)

    def meet(self) -> None:
        """The end of a phase."""
        self.barrier.meet(self.wait_until())

    def wait_until(self) -> float:
        """A node that is not there by then will not come. The first node gives up first, for only it sees who is missing."""
        seconds = 2 * self.options.phase_s + WAIT_S
        return min(self.until, time.monotonic() + (seconds if self.options.index == 0 else 2 * seconds))


def code_of(error: OSError) -> str:
    """The name of an error: `EIO`, `ESTALE`."""
    return errno.errorcode.get(error.errno or 0, str(error.errno))


def emit(**values: Any) -> None:
    """Print a line."""
    sys.stdout.write(json.dumps(values, sort_keys=True) + "\n")
    sys.stdout.flush()


def name_of_run(plan: dict[str, Any], options: argparse.Namespace) -> str:
    """The folder of the run: only its nodes know the name beforehand."""
    return f"run-{hashlib.sha256(secret_of(plan, options).encode()).hexdigest()[:16]}-{options.limit_s}"


def secret_of(plan: dict[str, Any], options: argparse.Namespace) -> str:
    """What the nodes of a run have in common, and nobody else."""
    return f"{plan['token']} {plan['run']} {options.key}"


def check_space(root: int, options: argparse.Namespace) -> None:
    """Refuse to fill a file system.

    Raises:
        NoSpaceError: it has not twice the space that the group will take.
    """
    space = os.fstatvfs(root)
    free_mib = space.f_bavail * space.f_frsize >> 20
    needed_mib = LEAST_SHARE_FREE * options.count * options.files * options.file_mib
    if free_mib < needed_mib:
        raise NoSpaceError(f"{free_mib} MiB are free, {needed_mib} MiB are required, twice of what is written")


def measure(options: argparse.Namespace, plan: dict[str, Any], table: Path) -> None:
    """The whole run of this node; what it made is removed, whatever happens."""
    mount = open_mount(options.mount, table)
    emit(
        schema_version=SCHEMA_VERSION,
        mount=options.mount,
        fstype=mount.fstype,
        source=mount.source,
        index=options.index,
        count=options.count,
    )
    check_space(mount.root, options)
    words = [word for word in options.folder.split("/") if word]
    barrier = FileBarrier(mount.root, words, name_of_run(plan, options), index=options.index, count=options.count, phases=PHASES)
    measurement = Measurement(options, barrier, secret_of(plan, options))
    try:
        try:
            measurement.run()
        finally:
            ignore_signals()
    except BaseException:
        measurement.stop.set()
        barrier.leave()
        raise
    barrier.end()
    emit(phase="end", removed=barrier.removed)


def ignore_signals() -> None:
    """A removal that has begun goes on to its end; one that takes too long is ended by the agent, which kills the process."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def end_early(*_: object) -> NoReturn:
    """The first signal ends the run; later ones do not interrupt the removal of what it made."""
    ignore_signals()
    sys.exit(1)


def main(words: list[str], table: Path = MOUNTS) -> int:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("mount", "folder", "key"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("index", "count", "files", "file-mib", "small-files", "asks", "phase-s", "limit-s"):
        parser.add_argument(f"--{name}", type=int, required=True)
    options = parser.parse_args(words)
    for number in SIGNALS:
        signal.signal(number, end_early)
    plan = json.loads(Path("plan.json").read_text(encoding="utf-8"))
    try:
        measure(options, plan, table)
    except NotMountedError as e:
        emit(problem="not_mounted", detail=str(e))
        return NOT_MOUNTED
    except NoSpaceError as e:
        emit(problem="no_space", detail=str(e))
        return NO_SPACE
    except AloneError as e:
        emit(problem="alone", detail=str(e), missing=e.missing)
        return ALONE
    except OSError as e:
        emit(problem="io_error", detail=f"{code_of(e)}: {e.filename or options.mount}: {e.strerror}")
        return IO_ERROR
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
