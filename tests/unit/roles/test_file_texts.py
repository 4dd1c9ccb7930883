"""Several files are read by one command."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from support.filters import filter_plugin

if TYPE_CHECKING:
    from pathlib import Path

file_texts = filter_plugin("file_texts").file_texts


def read(*paths: Path) -> dict[str, str]:
    """As the module `command` answers: without the line breaks at the end."""
    done = subprocess.run(["tail", "-v", "-n", "+1", *map(str, paths)], capture_output=True, text=True, check=False)
    found: dict[str, str] = file_texts(done.stdout.rstrip("\r\n"))
    return {path: text.rstrip("\n") for path, text in found.items()}


def test_each_file_has_its_text_whatever_stands_beside_it(tmp_path: Path) -> None:
    texts = {"one": "a\n\n==> b <==\nc", "empty": "", "none": "no line break", "last": "x = 1\ny"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text if name == "none" else f"{text}\n")
    (tmp_path / "empty").write_text("")
    assert read(*(tmp_path / name for name in texts)) == {str(tmp_path / name): text for name, text in texts.items()}


def test_an_empty_file_at_the_end_is_there(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert read(tmp_path / "empty") == {str(tmp_path / "empty"): ""}


def test_what_cannot_be_read_is_absent(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("x\n")
    assert read(tmp_path / "absent", tmp_path / "there", tmp_path / "absent too") == {str(tmp_path / "there"): "x"}
    assert read(tmp_path / "absent") == {}
    assert file_texts("") == {}
