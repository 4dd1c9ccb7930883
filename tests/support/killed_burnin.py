"""A burn-in whose controller is killed while all of its nodes run the ranks of a group."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.burnin_rack import BurninRack

_RANK_S = 3600
_RANKS = f"sleep {_RANK_S}"
_RUNNING = "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline 2>/dev/null; echo; done | grep -E '{pattern}' || true"
# For the end of a test, whatever became of it.
END_ALL = f"rm -f /etc/fake-ranks; pkill -9 -f burnin_agen[t]; pkill -9 -f '{_RANKS[:-1]}[0]'; true"


def left(rack: BurninRack) -> dict[str, list[str]]:
    """Node -> agents and what they started."""
    pattern = _RUNNING.format(pattern=f"burnin_agent.py ru[n]|mpiru[n]|orte[d]|{_RANKS[:-1]}[0]")
    shown = {name: one.shell(pattern) for name, one in rack.nodes.items()}
    return {name: text.splitlines() for name, text in shown.items() if text.strip()}


def _all_run_ranks(rack: BurninRack) -> bool:
    running = left(rack)
    return all(_RANKS in str(running.get(name)) for name in rack.nodes)


def kill_in_the_middle(rack: BurninRack, *gates: str, limit_s: float, look: Callable[[], None] | None = None) -> None:
    """Start a burn-in whose ranks do not end by themselves, and kill its controller while all nodes run ranks; `look` is called before that.

    Raises:
        TimeoutError: the run ended, or did not come to its ranks in time.
    """
    for one in rack.nodes.values():
        one.shell(f"echo {_RANK_S} > /etc/fake-ranks")
    argv = [sys.executable, "-m", "clusterctl", "--state-dir", str(rack.state_dir), "burnin", "rack-b", *gates, *rack.write()]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    child = subprocess.Popen(argv, env=environment, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + limit_s
    try:
        while not _all_run_ranks(rack):
            if child.poll() is not None or time.monotonic() > deadline:
                raise TimeoutError(f"exit status {child.poll()}; running: {left(rack)}")
            time.sleep(0.3)
        if look:
            look()
    finally:
        child.kill()
        child.wait()
    for one in rack.nodes.values():
        one.shell("rm -f /etc/fake-ranks")
