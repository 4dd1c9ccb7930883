"""Calls a view once a second from a thread of its own, so that it can show that something takes long."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_PERIOD_S = 1.0


class Ticker:
    """Calls `tick` until it is stopped. A daemon: it keeps no process alive."""

    def __init__(self, tick: Callable[[], None]) -> None:
        self._tick = tick
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="progress-ticker", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """No call begins after this returns, unless the caller is the ticker itself."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(_PERIOD_S):
            try:
                self._tick()
            except OSError:  # the terminal is gone: the main thread meets the same error with its next line
                return
