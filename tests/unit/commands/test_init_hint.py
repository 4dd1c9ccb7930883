"""The next command that `init` prints can be typed as it stands."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest

from clusterctl import main

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", ["mysite", "my site", "a;b", "$(x)"])
def test_the_folder_is_quoted(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.call(["init", str(tmp_path / name)]) == 0
    words = shlex.split(capsys.readouterr().err.replace("\n", " "))
    assert words[words.index("cd") + 1 :][:2] == [str(tmp_path / name), "&&"]
