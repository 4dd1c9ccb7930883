"""What a command costs this machine, with all its processes."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_TREE = Path(__file__).parent / "tree.py"
_LIMIT_S = 900.0


class CannotMeasureError(Exception):
    """A part of the benchmark has no number; the text says why."""


@dataclass(frozen=True)
class Ran:
    """A command that ended. CPU is user and system time of its whole process tree, detached processes included.

    Attributes:
        code: its exit status; 124 if it took longer than its limit.
        out: stdout and stderr together.
        rss_mib: peak of the largest process.
    """

    code: int
    out: str
    cpu_s: float
    wall_s: float
    rss_mib: float


def run(argv: Sequence[str], cwd: Path | None = None, env: Mapping[str, str] | None = None, limit_s: float = _LIMIT_S) -> Ran:
    """Run a command to its end, then end what it left running."""
    # an installed program has its byte-code; an environment that forbids it would be measured compiling
    env = {k: v for k, v in (os.environ if env is None else env).items() if k != "PYTHONDONTWRITEBYTECODE"}
    read, write = os.pipe()
    wrapped = [sys.executable, "-I", "-S", str(_TREE), str(write), str(limit_s), *argv]
    with (
        os.fdopen(read) as told,
        subprocess.Popen(
            wrapped,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=cwd,
            env=env,
            pass_fds=(write,),
        ) as process,
    ):
        os.close(write)
        out = process.stdout.read() if process.stdout else ""
        cost = told.read()
    if not cost:
        raise CannotMeasureError(f"{argv[0]}: {out[-500:]}")
    return Ran(out=out, **json.loads(cost))


def must(ran: Ran, what: str, good: tuple[int, ...] = (0,)) -> Ran:
    """The command, if it ended as it should.

    Raises:
        CannotMeasureError: it did not; with the end of what it said.
    """
    if ran.code not in good:
        raise CannotMeasureError(f"{what} ended with {ran.code}: {' '.join(ran.out[-900:].split())}")
    return ran


def median_cpu_s(argv: Sequence[str], times: int, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> float:
    """The median of several runs that must succeed."""
    return statistics.median(must(run(argv, cwd, env), argv[0]).cpu_s for _ in range(times))
