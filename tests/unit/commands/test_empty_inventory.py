"""An inventory without a node is not a success: what there is to check or to write is nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl import main
from clusterctl.model.exit_codes import ExitCode

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "words",
    [
        ("profile", "check"),
        ("profile", "check", "all"),
        ("profile", "check", "-o", "json"),
        ("topology",),
        ("topology", "all", "--format", "slurm-tree"),
        ("topology", "--format", "kubernetes"),
    ],
)
def test_nothing_is_an_error(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "hosts.yml").write_text("all: {children: {rack_1: {}}}\n")
    monkeypatch.chdir(tmp_path)
    assert main.call([*words, "-i", "hosts.yml"]) == ExitCode.CONFIG
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "no node matches 'all'" in printed.err
    assert "hint: " in printed.err


def test_a_profile_is_checked_before_it_has_nodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hosts.yml").write_text("all: {children: {profile_lab: {}}}\n")
    assert main.call(["profile", "check", "-i", "hosts.yml"]) == ExitCode.CONFIG
    assert "no node matches" not in capsys.readouterr().err
