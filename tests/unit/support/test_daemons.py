"""Daemons of tests end with their context, also when one of them does not start."""

from __future__ import annotations

import os
import time

import pytest

from support.daemons import Daemons


class Sleepers(Daemons):
    """Two daemons that write their process ids; the second may be missing."""

    def __init__(self, second: str = "sleep") -> None:
        super().__init__("clusterctl-test-")
        self.second = second

    def start(self) -> None:
        self.spawn("one", ["sleep", "600"])
        self.spawn("two", [self.second, "600"])


def pids(daemons: Daemons) -> list[int]:
    return [p.pid for p in daemons._processes.values()]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_nothing_outlives_the_context() -> None:
    with Sleepers() as daemons:
        started = pids(daemons)
        assert all(map(is_alive, started))
        assert daemons.is_running("one")
        daemons.stop("one")
        assert not daemons.is_running("one")
        assert (daemons.folder / "two.log").exists()
    assert not any(map(is_alive, started))
    assert not daemons.folder.exists()


def test_one_that_does_not_start_ends_the_others() -> None:
    daemons = Sleepers("no-such-program")
    with pytest.raises(FileNotFoundError), daemons:
        pass
    assert not daemons.is_running("one")
    assert not daemons.folder.exists()


def test_one_that_ends_by_itself_is_named() -> None:
    with Sleepers("true") as daemons:
        end = time.monotonic() + 30
        while not daemons.ended() and time.monotonic() < end:
            time.sleep(0.02)
        assert daemons.ended() == ["two"]
