"""Progress of `validate`, `plan` and `drift` on stderr: a line that is rewritten on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from clusterctl.terminal.pauses import Pauses
from clusterctl.terminal.safe_text import printable
from clusterctl.terminal.ticker import Ticker
from clusterctl.terminal.waiting import Waiting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class ValidationProgress:
    """A `ValidationListener`. On a terminal it redraws its line; in a log it prints one when nothing was printed for long."""

    def __init__(self, total: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._waiting = Waiting(total)
        self._lock = threading.Lock()
        self._pauses = Pauses(clock())
        self._drawn = False

    def started(self, node: str) -> None:
        """A query begins."""
        with self._lock:
            self._waiting.start(node, self._clock())

    def answered(self, node: str) -> None:
        """It ended."""
        with self._lock:
            self._waiting.end(node)

    def note(self, text: str) -> None:
        """Print a line above the progress."""
        with self._lock:
            self.clear()
            sys.stderr.write(printable(text) + "\n")
            sys.stderr.flush()

    def tick(self) -> None:
        """Show where it stands."""
        with self._lock:
            text = printable(self._waiting.text(self._clock()))
        if not text:
            return
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{text[: shutil.get_terminal_size().columns - 1]}\x1b[K")
            sys.stderr.flush()
            self._drawn = True
        elif self._pauses.over(self._clock()):
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()

    def clear(self) -> None:
        """Take the line off the terminal."""
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


@contextmanager
def validation_progress(total: int) -> Iterator[ValidationProgress]:
    """Progress of a validation of `total` nodes while the body runs."""
    progress = ValidationProgress(total)
    ticker = Ticker(progress.tick)
    ticker.start()
    try:
        yield progress
    finally:
        ticker.stop()
        progress.clear()
