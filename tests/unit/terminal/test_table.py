from __future__ import annotations

import os
import pty
import sys

import pytest

from clusterctl.terminal import out


@pytest.mark.parametrize("setting", ["1", ""])
def test_no_color_leaves_no_escape_sequence_on_a_terminal(setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", setting)
    monkeypatch.setenv("TERM", "xterm-256color")
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stdout", terminal)
        out.table(["NODE"], [["r12-n01"]])
        terminal.flush()
        shown = os.read(ours, 65536).decode()
    os.close(ours)
    assert "r12-n01" in shown
    assert ("\x1b" in shown) == (setting == "")


def test_a_column_off_a_terminal_is_as_wide_as_what_has_a_cell_beside_it(capsys: pytest.CaptureFixture[str]) -> None:
    """The hints of `doctor` stood 240 columns to the right, because one check without a hint found many gates."""
    out.table(["CHECK", "FOUND", "HINT"], [["ssh", "missing", "install it"], ["gates", "a list of gates that is very long", ""]])
    assert capsys.readouterr().out.splitlines() == [
        "CHECK  FOUND    HINT",
        "ssh    missing  install it",
        "gates  a list of gates that is very long",
    ]


def test_a_table_without_rows_has_its_columns(capsys: pytest.CaptureFixture[str]) -> None:
    out.table(["NODE", "STATE"], [])
    assert capsys.readouterr().out == "NODE  STATE\n"
