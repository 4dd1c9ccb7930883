"""Standard output and error that never end a run: a closed pipe or a full disk behind them loses text, not the state of nodes."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

if TYPE_CHECKING:
    from collections.abc import Iterable


class KeptStream:
    """A text stream whose writes do not fail. After the first failure it writes to nothing.

    Attributes:
        problem: why text was lost; None if none was.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.problem: OSError | None = None

    def write(self, text: str) -> int:
        """Write, or lose, a text."""
        try:
            return self._stream.write(text)
        except OSError as e:
            self._lose(e)
            return len(text)

    def writelines(self, texts: Iterable[str]) -> None:
        """Write, or lose, several texts."""
        for text in texts:
            self.write(text)

    def flush(self) -> None:
        """Write what is buffered, or lose it."""
        try:
            self._stream.flush()
        except OSError as e:
            self._lose(e)

    def _lose(self, problem: OSError) -> None:
        self.problem = self.problem or problem
        try:
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, self._stream.fileno())  # Python flushes its buffers once more at its end
            os.close(nothing)
        except (OSError, ValueError):
            return

    def __getattr__(self, name: str) -> Any:
        """Everything else is the stream's own."""
        return getattr(self._stream, name)


def keep_streams() -> KeptStream:
    """Replace stdout and stderr by streams that do not fail, also if they are closed or cannot show a character; returns stdout."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            stream = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 open as long as the process
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
        setattr(sys, name, cast("TextIO", KeptStream(stream)))
    return cast("KeptStream", sys.stdout)
