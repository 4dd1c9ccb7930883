"""What a command costs this machine."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


@dataclass(frozen=True)
class Ran:
    """A command that ended; CPU is its own and that of its waited-for children, user and system."""

    code: int
    out: str
    cpu_s: float
    wall_s: float
    rss_mib: float


def run(argv: Sequence[str], cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Ran:
    """Run a command to its end."""
    began = time.monotonic()
    # an installed clusterctl has its byte-code; an environment that forbids it would be measured compiling
    env = {k: v for k, v in (os.environ if env is None else env).items() if k != "PYTHONDONTWRITEBYTECODE"}
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=cwd, env=env) as process:
        out = process.stdout.read() if process.stdout else ""
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return Ran(process.returncode, out, used.ru_utime + used.ru_stime, time.monotonic() - began, used.ru_maxrss / 1024)


def median_cpu_s(argv: Sequence[str], times: int, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> float:
    """The median of several runs that must succeed."""
    ran = [run(argv, cwd, env) for _ in range(times)]
    for one in ran:
        if one.code:
            raise RuntimeError(f"{argv[0]} ended with {one.code}: {one.out[-500:]}")
    return statistics.median(one.cpu_s for one in ran)
