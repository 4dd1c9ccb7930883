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
