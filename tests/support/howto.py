"""How-to pages as programs: the files that a page shows, and the commands with what they print."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_FILE = re.compile(r"^`(?P<name>[\w./-]+)`:\n\n```\w+\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_STATUS = re.compile(r"\s+#\s.*exit status (\d+)")


@dataclass(slots=True)
class Step:
    """One command line of a page.

    Attributes:
        status: its exit status; 0 unless the page states another.
        shown: the lines that the page shows of its output.
    """

    command: str
    status: int = 0
    shown: list[str] = field(default_factory=list)

    def missing(self, output: str) -> list[str]:
        """The shown lines that are not printed: words in the same order, in one line; spaces do not count."""
        lines = output.splitlines()
        patterns = {line: re.compile(".*".join(map(re.escape, line.split()))) for line in self.shown}
        return [line for line, pattern in patterns.items() if not any(pattern.search(printed) for printed in lines)]


def write_files(page: str, folder: Path) -> list[str]:
    """Write every file that the page shows under its name; returns the names."""
    found = [(m["name"], m["text"]) for m in _FILE.finditer(page)]
    for name, text in found:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return [name for name, _ in found]


def steps(page: str) -> Iterator[Step]:
    """The command lines of all console blocks, in order."""
    for block in _CONSOLE.findall(page):
        step: Step | None = None
        for line in block.splitlines():
            if line.startswith("$ "):
                if step is not None:
                    yield step
                status = _STATUS.search(line)
                step = Step(re.sub(r"\s+# .*", "", line.removeprefix("$ ")), int(status[1]) if status else 0)
            elif step is not None and line.strip():
                step.shown.append(line)
        if step is not None:
            yield step
