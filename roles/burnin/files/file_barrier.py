"""Nodes that share a folder wait for each other in it, phase after phase. Standard library, Python 3.8+.

The first node makes the folder and sees who has arrived; the others read its word for `go on`. A client of NFS remembers names, also that there was
none, until it asks the server about their folder again: each folder and file is opened anew by its name, which makes it ask (close-to-open: nfs(5);
nfs_lookup_verify_inode in fs/nfs/dir.c). A mount with `nocto` does not, and its nodes wait longer.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

from shared_folder import FOLDER, names_in, open_folder, remove_dead_runs, remove_tree

# Not confirmed on a running server of NFS: that all nodes see each other's arrival at once, as the source of the kernel says.
PHASE, ARRIVED = "phase", "at"
ABORTED = 99999999
DIGITS = 8
LEFT = "left-"
# Seconds between two looks: hundreds of nodes ask the same server.
LEAST_PAUSE_S, PAUSE_S_PER_NODE = 0.05, 0.0001


class AloneError(Exception):
    """Others of the group did not come, or left; `missing` are their numbers, as far as this node knows them."""

    def __init__(self, missing: list[int]) -> None:
        super().__init__(f"nodes {missing or 'unknown'} did not come, or left")
        self.missing = missing


def write_number(folder: int, name: str, number: int) -> None:
    """Change the number in a file that is there, for others to see."""
    opened = os.open(name, os.O_WRONLY | os.O_NOFOLLOW, dir_fd=folder)
    try:
        os.pwrite(opened, b"%0*d" % (DIGITS, number), 0)
        os.fsync(opened)
    finally:
        os.close(opened)


def read_number(folder: int, name: str) -> int:
    """The number in a file, as the server has it now; -1 where it is being written."""
    opened = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=folder)
    try:
        found = os.pread(opened, DIGITS, 0)
    finally:
        os.close(opened)
    return int(found) if len(found) == DIGITS and found.isdigit() else -1


def new_file(folder: int, name: str, content: bytes = b"") -> None:
    """Make a file that was not there."""
    opened = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=folder)
    try:
        os.write(opened, content)
    finally:
        os.close(opened)


class FileBarrier:
    """The meeting of `count` nodes in the folder `name` below `words` of a mount; this one is number `index`.

    Attributes:
        run: descriptor of the folder of the run; own: of this node's folder in it.
        removed: the folders of dead runs that the first node removed.
    """

    def __init__(self, root: int, words: list[str], name: str, *, index: int, count: int, phases: int) -> None:
        self.root, self.words, self.name = root, words, name
        self.index, self.count, self.phases = index, count, phases
        self.pause_s = max(LEAST_PAUSE_S, PAUSE_S_PER_NODE * count)
        self.phase = -1
        self.removed: list[str] = []
        self.parent = open_folder(root, words, make=True)
        self.run = self.own = -1
        self.begun = False

    def _make(self) -> None:
        """All at once for the others: the folder gets its name when it is complete."""
        incomplete = f".{self.name}"
        os.mkdir(incomplete, 0o700, dir_fd=self.parent)
        self.begun = True
        self.removed = remove_dead_runs(self.parent, os.stat(incomplete, dir_fd=self.parent).st_mtime)
        made = os.open(incomplete, FOLDER, dir_fd=self.parent)
        new_file(made, PHASE, b"%0*d" % (DIGITS, 0))
        for phase in range(self.phases):
            os.mkdir(f"{ARRIVED}{phase}", 0o700, dir_fd=made)
        self.run = made
        os.rename(incomplete, self.name, src_dir_fd=self.parent, dst_dir_fd=self.parent)

    def enter(self, until: float) -> None:
        """Make this node's folder in that of the run; the first node makes that one, too.

        Raises:
            AloneError: the first node did not make it in time.
        """
        if self.index == 0:
            self._make()
        while self.run < 0:
            os.close(self.parent)
            self.parent = open_folder(self.root, self.words)
            with suppress(FileNotFoundError):
                self.run = os.open(self.name, FOLDER, dir_fd=self.parent)
                break
            if time.monotonic() >= until:
                raise AloneError([0])
            time.sleep(self.pause_s)
        os.mkdir(str(self.index), 0o700, dir_fd=self.run)
        self.own = os.open(str(self.index), FOLDER, dir_fd=self.run)

    def meet(self, until: float) -> None:
        """Wait until all nodes have reached the next phase.

        Raises:
            AloneError: one did not, or has left.
        """
        self.phase += 1
        new_file(self.run, f"{ARRIVED}{self.phase}/{self.index}")
        while not (self._all_here() if self.index == 0 else self._may_go_on()):
            if time.monotonic() >= until:
                raise AloneError(self._missing())
            time.sleep(self.pause_s)

    def leave(self) -> None:
        """Tell the others not to wait for this node, and remove its folder; the last one removes that of the run."""
        with suppress(OSError):
            if self.index == 0:
                write_number(self.run, PHASE, ABORTED)
            else:
                new_file(self.run, f"{ARRIVED}{self.phase + 1}/{LEFT}{self.index}")
        self.end()

    def end(self) -> None:
        """Remove this node's folder; the last one removes that of the run."""
        if self.begun:
            remove_tree(self.parent, f".{self.name}")
        if self.run < 0:
            return
        if self.own >= 0:
            remove_tree(self.run, str(self.index))
        with suppress(OSError):
            if not any(entry.isdigit() for entry in names_in(self.parent, self.name)):
                remove_tree(self.parent, self.name)

    def _all_here(self) -> bool:
        here = names_in(self.run, f"{ARRIVED}{self.phase}")
        left = [int(name[len(LEFT) :]) for name in here if name.startswith(LEFT)]
        if left:
            raise AloneError(sorted(left))
        if len(here) < self.count:
            return False
        write_number(self.run, PHASE, self.phase + 1)
        return True

    def _may_go_on(self) -> bool:
        found = read_number(self.run, PHASE)
        if found == ABORTED:
            raise AloneError([])
        return found > self.phase

    def _missing(self) -> list[int]:
        if self.index:
            return [0]
        here = set(names_in(self.run, f"{ARRIVED}{self.phase}"))
        return [i for i in range(self.count) if str(i) not in here]
