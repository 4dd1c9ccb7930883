"""What a validation shows while nodes have not answered."""

from __future__ import annotations

import threading
import time

import pytest

from clusterctl.terminal.ticker import Ticker
from clusterctl.terminal.validation_progress import ValidationProgress, validation_progress
from clusterctl.terminal.waiting import Waiting


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_a_hung_node_is_named_in_a_log_after_half_a_minute(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    progress = ValidationProgress(3, clock)
    for node in ("n1", "n2", "n3"):
        progress.started(node)
    progress.answered("n1")
    for _ in range(3):  # it has just booted, and is queried again
        progress.started("n3")
        progress.answered("n3")
    seen: list[tuple[int, str]] = []
    for second in range(181):
        clock.now_s = second
        progress.tick()
        seen += [(second, line) for line in capsys.readouterr().err.splitlines()]
    assert seen == [
        (30, "2 of 3 nodes answered, waiting for n2 (30 s)"),
        (90, "2 of 3 nodes answered, waiting for n2 (1 min 30 s)"),
    ]


def test_on_a_terminal_the_line_is_rewritten_and_taken_away(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "40")
    clock = Clock()
    progress = ValidationProgress(2, clock)
    progress.started("n1")
    progress.started("n2")
    progress.answered("n1")
    progress.tick()
    clock.now_s = 35
    progress.tick()
    progress.clear()
    first, second, end = capsys.readouterr().err.split("\r")[1:]
    assert first == "1 of 2 nodes answered\x1b[K"
    assert second == "1 of 2 nodes answered, waiting for n2 (\x1b[K", "cut to the width of the terminal"
    assert end == "\x1b[K"


def test_a_quick_validation_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with validation_progress(1) as progress:
        progress.started("n1")
        progress.answered("n1")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("ages_s", "total", "text"),
    [
        ({}, 2, "0 of 2 nodes answered"),
        ({"n1": 9}, 2, "0 of 2 nodes answered"),
        ({"n1": 9}, 1, ""),
        ({"n1": 12}, 1, "waiting for n1 (12 s)"),
        ({"n1": 12, "n2": 30, "n3": 5}, 9, "0 of 9 nodes answered, waiting for n2 (30 s), n1 (12 s)"),
        ({f"n{i}": 20 + i for i in range(6)}, 6, "0 of 6 nodes answered, waiting for n5 (25 s), n4 (24 s), n3 (23 s) and 3 more"),
    ],
)
def test_the_nodes_that_take_longest_are_named(ages_s: dict[str, float], total: int, text: str) -> None:
    assert Waiting(total, since_s={node: 100 - age for node, age in ages_s.items()}).text(100) == text


def test_a_ticker_ticks_until_it_is_stopped_and_ends_where_the_terminal_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clusterctl.terminal.ticker._PERIOD_S", 0.001)
    ticked = threading.Event()
    ticker = Ticker(ticked.set)
    ticker.start()
    assert ticked.wait(5)
    ticker.stop()
    ticked.clear()
    time.sleep(0.02)
    assert not ticked.is_set()

    def gone() -> None:
        raise BrokenPipeError

    ended = Ticker(gone)
    ended.start()
    ended._thread.join(5)
    assert not ended._thread.is_alive()
    ended.stop()
