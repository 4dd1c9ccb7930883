"""Errors and notes on stderr."""

from __future__ import annotations

import sys
import traceback as tb
from typing import TYPE_CHECKING

from clusterctl.terminal.safe_text import printable_lines

if TYPE_CHECKING:
    from clusterctl.model.errors import ClusterctlError


def error(problem: ClusterctlError) -> None:
    """Print an error and its hint."""
    failure(str(problem), problem.hint)


def failure(text: str, hint: str) -> None:
    """What failed, and what to do next."""
    sys.stderr.write(printable_lines(f"error: {text}") + "\n")
    if hint:
        sys.stderr.write(printable_lines(f"hint: {hint}") + "\n")


def note(text: str) -> None:
    """One line of progress or advice."""
    sys.stderr.write(printable_lines(text) + "\n")


def unexpected(problem: Exception) -> None:
    """Print an unexpected error without its traceback."""
    sys.stderr.write(printable_lines(f"error: unexpected {type(problem).__name__}: {problem}") + "\n")
    sys.stderr.write("hint: run again with --debug before the verb and report the traceback\n")


def traceback(problem: BaseException) -> None:
    """The full traceback, for --debug."""
    tb.print_exception(problem)
