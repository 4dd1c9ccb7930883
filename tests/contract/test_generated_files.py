"""scripts/generated_files.py: what differs is written once, what is no longer wanted goes, and `--check` changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from generated_files import write_or_check

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_files_are_written_once_and_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new, kept, gone = (tmp_path / name for name in ("new", "kept", "gone"))
    kept.write_text("as it is\n")
    gone.write_text("x")
    wanted = {new: "text\n", kept: "as it is\n"}
    assert write_or_check(wanted, ["--check"], root=tmp_path, unwanted=[gone]) == 1
    assert capsys.readouterr().out.splitlines() == ["stale: new", "stale: gone"]
    assert (new.exists(), gone.exists()) == (False, True)
    assert write_or_check(wanted, [], root=tmp_path, unwanted=[gone]) == 0
    assert capsys.readouterr().out.splitlines() == ["wrote: new", "removed: gone"]
    assert (new.read_text(), gone.exists()) == ("text\n", False)
    assert write_or_check(wanted, ["--check"], root=tmp_path) == 0
    new.write_text("edited\n")
    assert write_or_check(wanted, ["--check"], root=tmp_path) == 1
    assert new.read_text() == "edited\n"
