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
    assert not counts["nothing_found"], [o for o in outcomes if o["outcome"] == "nothing_found"]
    assert counts["read"] > counts["refused"]
    assert all(o["why"] for o in outcomes if o["outcome"] in ("refused", "no_reader", "empty"))


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


def test_a_reader_that_finds_nothing_has_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "SHARED", tmp_path)
    for tool, text in (("dmesg", "[    1.5] usb 1-1: new device\n"), ("proc-cmdline", "\n")):
        (tmp_path / "recorded" / tool).mkdir(parents=True)
        (tmp_path / "recorded" / tool / "x.txt").write_text(text)
    quiet = run.outcome_of(tmp_path / "recorded/dmesg/x.txt", "dmesg")
    assert (quiet["outcome"], "values" in quiet) == ("empty", False)
    assert "without an XID" in quiet["why"]
    assert run.outcome_of(tmp_path / "recorded/proc-cmdline/x.txt", "cat /proc/cmdline")["outcome"] == "nothing_found"


@pytest.mark.parametrize(
    ("name", "text", "outcome"),
    [
        ("nccl-debug", "n1:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n", ("read", 1)),
        ("nccl-debug", "n1:1:2 [0] NCCL INFO Bootstrap: Using eth0\n", ("empty", None)),
        ("dmesg", "[    9.5] NVRM: Xid (PCI:0000:01:00): 79, pid=1, GPU has fallen off the bus.\n", ("read", 1)),
        ("dmesg", "\n", ("refused", None)),
    ],
)
def test_a_reader_of_more_than_a_text(
    name: str, text: str, outcome: tuple[str, int | None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "SHARED", tmp_path)
    (tmp_path / "recorded" / name).mkdir(parents=True)
    (tmp_path / "recorded" / name / "x.txt").write_text(text)
    found = run.outcome_of(tmp_path / "recorded" / name / "x.txt", "a log")
    assert (found["outcome"], found.get("values")) == outcome
