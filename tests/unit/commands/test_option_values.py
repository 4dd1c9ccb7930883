"""Values that no option takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl import main
from clusterctl.model.exit_codes import ExitCode

if TYPE_CHECKING:
    from pathlib import Path

BIG = "9" * 30


@pytest.mark.parametrize(
    "words",
    [
        ["validate", "all", "--timeout", "nan"],
        ["validate", "all", "--timeout", "inf"],
        ["validate", "all", "--timeout", "1e400"],
        ["validate", "all", "--forks", BIG],
        ["drift", "all", "--timeout", "nan"],
        ["provision", "all", "--yes", "--forks", BIG],
        ["history", "n1", "--limit", BIG],
        ["drain", "all", "--reason", " "],
        ["release", "all", "--reason", ""],
        ["announce", "all", "--begins", "2999-01-01T00:00", "--ends", "2999-01-02T00:00Z", "--reason", "x"],
        ["provision", "all", "--yes", "--roles", ","],
        ["provision", "all", "--yes", "--partners", " , "],
        ["burnin", "all", "--gates", " "],
        ["init", "/"],
    ],
    ids=" ".join,
)
def test_it_is_refused_as_wrong_usage(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main.call(words) == ExitCode.USAGE
    assert list(tmp_path.iterdir()) == []
