"""Counts the boundaries of a process at which it could die, and kills it at one of them."""

from __future__ import annotations

import os
import signal
import subprocess
from dataclasses import dataclass, field
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine, event

if TYPE_CHECKING:
    from collections.abc import Callable

_CALLS = ("fsync", "replace", "mkdir", "unlink")
_WRITES = ("INSERT", "UPDATE", "DELETE")


@dataclass
class Boundaries:
    """Every write to the database, every commit, every change of a file, every question and answer of a scheduler, and every operation on nodes.

    Attributes:
        kill_at: number of the boundary at which the process kills itself; 0 = never.
        names: the boundaries so far.
        before_kill: what happens to the machine at the moment of the kill.
    """

    kill_at: int = 0
    names: list[str] = field(default_factory=list)
    before_kill: Callable[[], None] = lambda: None

    def reached(self, name: str) -> None:
        """Count one; does not return at the chosen one."""
        self.names.append(name)
        if len(self.names) == self.kill_at:
            self.before_kill()
            os.kill(os.getpid(), signal.SIGKILL)

    def install(self) -> None:
        """Count from here on, in this process; there is no way back."""

        def statement(_connection: Any, _cursor: Any, text: str, *_rest: Any) -> None:
            if text.startswith(_WRITES):
                self.reached(f"sql {' '.join(text.split()[:3])}")

        event.listen(Engine, "before_cursor_execute", statement)
        event.listen(Engine, "commit", lambda _connection: self.reached("sql commit"))
        for name in _CALLS:
            setattr(os, name, self._before(f"os.{name}", getattr(os, name)))
        vars(subprocess)["run"] = self._before("command", self._after("answer of a command", subprocess.run))
        HTTPConnection.endheaders = self._before("request", HTTPConnection.endheaders)  # type: ignore[method-assign]
        HTTPConnection.getresponse = self._after("answer", HTTPConnection.getresponse)  # type: ignore[method-assign]

    def _before(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **words: Any) -> Any:
            self.reached(name)
            return call(*args, **words)

        return counted

    def _after(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **words: Any) -> Any:
            try:
                return call(*args, **words)
            finally:
                self.reached(name)

        return counted
