"""The processes of one run, ended: what has been found once, what starts meanwhile, and what is just becoming another program."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from clusterctl.adapters.ansible.process_tree import end_processes, find_processes

if TYPE_CHECKING:
    from collections.abc import Iterator

CASES = {
    "ends when asked": "sleep 60",
    "ignores the first signal": "trap '' TERM; sleep 60 & sleep 60 & wait; sleep 60",
    "starts another one when asked to end": "trap 'setsid sleep 60 & exit' TERM; sleep 60 & wait",
    "starts another one that ignores the first signal": "trap 'trap \"\" TERM; setsid sleep 60 & exit' TERM; sleep 60 & wait",
}


@pytest.mark.parametrize("case", CASES)
def test_nothing_is_left_when_it_returns(case: str) -> None:
    with started(["sh", "-c", CASES[case]]) as marker:
        end_processes(marker, grace_s=0.5)
        assert find_processes(marker) == set()


def test_many_that_ignore_the_first_signal_are_gone_when_it_returns() -> None:
    many = "trap '' TERM; for i in $(seq 60); do sleep 60 & done; wait"
    with started(["sh", "-c", many]) as marker:
        end_processes(marker, grace_s=0.2)
        assert find_processes(marker) == set()


def test_a_process_that_is_just_starting_another_program_is_found() -> None:
    again = "import os, signal, sys; signal.signal(signal.SIGTERM, signal.SIG_IGN); os.execv(sys.executable, sys.orig_argv)"
    with started([sys.executable, "-S", "-E", "-c", again]) as marker:
        missed = sum(not find_processes(marker) for _ in range(300))
        end_processes(marker, grace_s=0.3)
        assert find_processes(marker) == set()
        assert missed < 3  # on a busy machine one can stay between two programs for longer than it is asked


def test_it_returns_as_soon_as_they_have_ended() -> None:
    with started(["sleep", "60"]) as marker:
        began = time.monotonic()
        end_processes(marker, grace_s=30)
        assert time.monotonic() - began < 5


def test_processes_of_others_are_left_alone() -> None:
    with started(["sleep", "60"]) as other, started(["sleep", "60"]) as marker:
        end_processes(marker, grace_s=0.5)
        assert len(find_processes(other)) == 1
        end_processes(other)


@contextmanager
def started(command: list[str]) -> Iterator[str]:
    """A command whose environment has a marker of its own, which is yielded."""
    marker = f"process-tree-{uuid4().hex}"
    process = subprocess.Popen(command, env={**os.environ, "RUN": marker}, start_new_session=True)
    deadline = time.monotonic() + 10
    while not find_processes(marker) and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.1)  # a shell sets its traps
    try:
        yield marker
    finally:
        end_processes(marker, grace_s=0)
        process.wait()
