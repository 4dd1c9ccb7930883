"""One comparison of a real program with the simulator, and the report of all."""

from __future__ import annotations

import difflib
import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True)
class Normalisation:
    """A part of both outputs that is not compared.

    Attributes:
        pattern: what is replaced, in each line.
        becomes: by what; `\\1` is the first group of the pattern.
        why: why both cannot have the same there.
    """

    pattern: str
    becomes: str
    why: str

    def applied(self, text: str) -> str:
        """The text with every match replaced."""
        return re.sub(self.pattern, self.becomes, text, flags=re.MULTILINE)


@dataclass(frozen=True)
class Comparison:
    """What both printed for one command on one machine. Exit status and standard error are part of the text."""

    tool: str
    machine: str
    command: str
    real: str
    simulated: str
    normalisations: tuple[Normalisation, ...] = ()

    @property
    def difference(self) -> list[str]:
        """The lines that differ after normalisation, as a unified diff without context; empty if both are equal."""
        real, simulated = (self._lines(text) for text in (self.real, self.simulated))
        if not real and not simulated:
            return ["neither printed anything"]
        return list(difflib.unified_diff(real, simulated, "real", "simulated", lineterm="", n=0))

    def _lines(self, text: str) -> list[str]:
        for rule in self.normalisations:
            text = rule.applied(text)
        return text.splitlines()


@dataclass(frozen=True)
class NotRun:
    """A program that could not be run over the simulated machine here."""

    tool: str
    reason: str


@dataclass(frozen=True)
class ToolReport:
    """All comparisons of one tool. `version`: what the real program reports."""

    tool: str
    version: str
    comparisons: Sequence[Comparison]


def report(tools: Iterable[ToolReport], not_run: Iterable[NotRun]) -> dict[str, Any]:
    """The content of build/cross_check.json."""
    rows = [_row(tool) for tool in tools]
    return {
        "tools": len(rows),
        "compared": sum(row["compared"] for row in rows),
        "different": sum(len(row["different"]) for row in rows),
        "rows": rows,
        "not_run": [asdict(entry) for entry in not_run],
    }


def _row(tool: ToolReport) -> dict[str, Any]:
    rules = {rule: None for comparison in tool.comparisons for rule in comparison.normalisations}
    different = [c for c in tool.comparisons if c.difference]
    return {
        "tool": tool.tool,
        "version": tool.version,
        "compared": len(tool.comparisons),
        "machines": sorted({c.machine for c in tool.comparisons}),
        "commands": sorted({c.command for c in tool.comparisons}),
        "normalisations": [asdict(rule) for rule in rules],
        "different": [{"machine": c.machine, "command": c.command, "difference": c.difference} for c in different],
    }
