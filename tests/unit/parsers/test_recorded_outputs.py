"""Every recording has an outcome, and no reader crashes on one."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from recorded_outputs import __main__ as run

if TYPE_CHECKING:
    from pathlib import Path


def test_no_reader_crashes_and_no_file_is_left_out() -> None:
    files = list(run.recordings())
    if not files:
        pytest.skip("../shared/recorded is not here")
    outcomes = [run.outcome_of(file, tool) for file, tool in files]
    counts = Counter(o["outcome"] for o in outcomes)
    assert not counts["crashed"], [o for o in outcomes if o["outcome"] == "crashed"]
    assert not counts["missing"]
    assert counts["read"] > counts["refused"]
    assert all(o["why"] for o in outcomes if o["outcome"] in ("refused", "no_reader"))


def test_without_recordings_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(run, "SHARED", tmp_path)
    assert run.main() == 3
    assert "no recordings" in capsys.readouterr().err


def test_a_file_that_is_gone_and_a_reader_that_crashes_fail_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "SHARED", tmp_path)
    assert run.outcome_of(tmp_path / "recorded/perftest/gone.txt", "perftest")["outcome"] == "missing"
    (tmp_path / "recorded/perftest").mkdir(parents=True)
    (tmp_path / "recorded/perftest/x.txt").write_text("x")
    monkeypatch.setattr(run, "_values", lambda _reader, _text: {"y": 1}["x"])
    assert run.outcome_of(tmp_path / "recorded/perftest/x.txt", "perftest")["outcome"] == "crashed"
