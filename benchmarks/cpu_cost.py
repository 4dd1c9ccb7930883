"""The CPU time, wall time and memory of a command with all its processes."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_MEASURE_TREE = Path(__file__).parent / "process_tree_cost.py"
_LIMIT_S = 900.0


class CannotMeasureError(Exception):
    """A part of the benchmark cannot be measured, with the reason."""


@dataclass(frozen=True)
class FinishedCommand:
    """A command that ended. CPU is user and system time of its whole process tree, including detached processes.

    Attributes:
        code: its exit status; 124 if it took longer than its limit.
        out: stdout; err: stderr, which shows progress.
        rss_mib: peak memory of the largest process.
    """

    code: int
    out: str
    err: str
    cpu_s: float
    wall_s: float
    rss_mib: float

    @property
    def output(self) -> str:
        """All of its output, for people and for programs that print results to either."""
        return self.out + self.err


def run_command(
    argv: Sequence[str], cwd: Path | None = None, env: Mapping[str, str] | None = None, limit_s: float = _LIMIT_S
) -> FinishedCommand:
    """Run a command to its end, then terminate the processes that it left running.

    Raises:
        CannotMeasureError: the command could not be started.
    """
    # Installed programs have byte-code. With this variable set, compiling would be measured, too.
    env = {k: v for k, v in (os.environ if env is None else env).items() if k != "PYTHONDONTWRITEBYTECODE"}
    read, write = os.pipe()
    wrapped = [sys.executable, "-I", "-S", str(_MEASURE_TREE), str(write), str(limit_s), *argv]
    with (
        os.fdopen(read) as report,
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as stderr_file,
        subprocess.Popen(
            wrapped,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr_file,
            text=True,
            cwd=cwd,
            env=env,
            pass_fds=(write,),
        ) as process,
    ):
        os.close(write)
        out = process.stdout.read() if process.stdout else ""
        cost = report.read()
        stderr_file.seek(0)
        err = stderr_file.read()
    if not cost:
        raise CannotMeasureError(f"{argv[0]}: {(out + err)[-500:]}")
    return FinishedCommand(out=out, err=err, **json.loads(cost))


def require_success(ran: FinishedCommand, what: str, good: tuple[int, ...] = (0,)) -> FinishedCommand:
    """Return the command if its exit status is one of `good`.

    Raises:
        CannotMeasureError: it is not; the message has the end of the output.
    """
    if ran.code not in good:
        raise CannotMeasureError(f"{what} ended with {ran.code}: {' '.join(ran.output[-900:].split())}")
    return ran


def median_cpu_s(argv: Sequence[str], times: int, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> float:
    """The median CPU time of several successful runs."""
    return statistics.median(require_success(run_command(argv, cwd, env), argv[0]).cpu_s for _ in range(times))
