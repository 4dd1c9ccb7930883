"""What two nodes share on a file system: locks, and writes that the other one sees. Standard library, Python 3.8+.

Each node is the holder of its own locks and asks for those of the node after it; it asks that node by a mark, and answers the node before it. Times
are those of the asker alone, from its write to the answer that it reads: two writes, each seen by the other node.
"""

from __future__ import annotations

import fcntl
import os
import time
from typing import TYPE_CHECKING, Any

from file_barrier import new_file, read_number, write_number

if TYPE_CHECKING:
    import threading

    from file_barrier import FileBarrier

ASK, ANSWER = "ask", "answer"
LOCKS = {"flock": fcntl.flock, "fcntl": fcntl.lockf}
GRANTED, REFUSED = "granted", "refused"
# A lock that was released is to be had at once; a server may take a moment.
FREE_S = 10
# A mark that was not seen by then will not be waited for.
NEVER_S = 10
PAUSE_S = 0.02
OVER = 99999998


def make_marks(own: int) -> None:
    """The marks of a node, before anybody looks for them."""
    for name in (ASK, ANSWER):
        new_file(own, name, b"00000000")


class LockPair:
    """The locks of this node and of the next one, once by flock(2), once by fcntl(2).

    Attributes:
        found: kind of lock -> what happened to it.
    """

    def __init__(self, barrier: FileBarrier, following: int) -> None:
        self.barrier, self.following = barrier, following
        self.found: dict[str, dict[str, Any]] = {kind: {"held": False, "while_held": "", "when_free": ""} for kind in LOCKS}
        self.held: dict[str, int] = {}

    def make(self) -> None:
        """The files."""
        for kind in LOCKS:
            new_file(self.barrier.own, kind)

    def hold(self) -> None:
        """Lock the own files."""
        for kind, lock in LOCKS.items():
            opened = os.open(kind, os.O_RDWR | os.O_NOFOLLOW, dir_fd=self.barrier.own)
            self.held[kind] = opened
            lock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.found[kind]["held"] = True

    def ask_while_held(self) -> None:
        """The locks of the next node must be refused."""
        for kind in LOCKS:
            self.found[kind]["while_held"] = self._asked(kind, 0.0)

    def release(self) -> None:
        """Give the own locks up."""
        for opened in self.held.values():
            os.close(opened)
        self.held = {}

    def ask_when_free(self) -> None:
        """The locks of the next node are to be had now."""
        for kind in LOCKS:
            self.found[kind]["when_free"] = self._asked(kind, FREE_S)

    def _asked(self, kind: str, seconds: float) -> str:
        opened = os.open(f"{self.following}/{kind}", os.O_RDWR | os.O_NOFOLLOW, dir_fd=self.barrier.run)
        until = time.monotonic() + seconds
        try:
            while True:
                try:
                    LOCKS[kind](opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except (BlockingIOError, PermissionError):
                    if time.monotonic() >= until:
                        return REFUSED
                    time.sleep(PAUSE_S)
                else:
                    return GRANTED
        finally:
            os.close(opened)


class Exchange:
    """Questions to the next node, and answers to the one before.

    Attributes:
        trips_s: from each question until its answer was read.
        unanswered: a question was not answered in time; none follows.
    """

    def __init__(self, barrier: FileBarrier, asks: int) -> None:
        self.barrier, self.asks = barrier, asks
        self.following, self.before = ((barrier.index + step) % barrier.count for step in (1, -1))
        self.trips_s: list[float] = []
        self.unanswered = False
        self.number = self.answered = 0
        self.begun_s = 0.0

    def run(self, seconds: float, stop: threading.Event) -> dict[str, Any]:
        """Until both have asked all their questions."""
        until = time.monotonic() + seconds
        asking = answering = True
        while (asking or answering) and time.monotonic() < until and not stop.is_set():
            answering = answering and self.answer()
            asking = asking and self.ask()
            time.sleep(PAUSE_S)
        return {"round_trips_s": self.trips_s, "asked": len(self.trips_s) + int(asking or self.unanswered)}

    def answer(self) -> bool:
        """Answer a new question; whether there may be more."""
        theirs = read_number(self.barrier.run, f"{self.before}/{ASK}")
        if theirs not in (-1, OVER, self.answered):
            write_number(self.barrier.own, ANSWER, theirs)
            self.answered = theirs
        return theirs != OVER

    def ask(self) -> bool:
        """Look for the answer, else ask the next question; whether there are more."""
        if self.begun_s:
            waited_s = time.monotonic() - self.begun_s
            if read_number(self.barrier.run, f"{self.following}/{ANSWER}") == self.number:
                self.trips_s.append(waited_s)
                self.begun_s = 0.0
            self.unanswered = bool(self.begun_s) and waited_s > NEVER_S
        if self.unanswered or (not self.begun_s and self.number == self.asks):
            write_number(self.barrier.own, ASK, OVER)
            return False
        if not self.begun_s:
            self.number += 1
            self.begun_s = time.monotonic()
            write_number(self.barrier.own, ASK, self.number)
        return True
