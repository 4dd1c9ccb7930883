"""Daemons of a test in a folder of their own; nothing of them outlives their context."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Sequence

_END_S = 90


class Daemons(ABC):
    """A context manager; a subclass starts its daemons in `start`. The last one started ends first."""

    def __init__(self, prefix: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=prefix))  # short: sockets lie in it
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for name in reversed(tuple(self._processes)):
            self.stop(name)
        shutil.rmtree(self.folder, ignore_errors=True)

    @abstractmethod
    def start(self) -> None:
        """Start them, and wait until they are ready."""

    def environment(self) -> dict[str, str]:
        """The environment of each daemon."""
        return dict(os.environ)

    def spawn(self, name: str, argv: Sequence[str]) -> None:
        """Start one; its output goes to NAME.log."""
        with (self.folder / f"{name}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder, env=self.environment()
            )

    def ended(self) -> list[str]:
        """Those that ended by themselves."""
        return [name for name, process in self._processes.items() if process.poll() is not None]

    def is_running(self, name: str) -> bool:
        """Whether it was started and not stopped since."""
        return name in self._processes

    def stop(self, name: str) -> None:
        """End one."""
        process = self._processes.pop(name)
        process.terminate()
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(_END_S)
