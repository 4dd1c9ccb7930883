"""Whoever asks in a folder that is not a site's learns so, and leaves nothing there that looks like one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl import main
from clusterctl.model.exit_codes import ExitCode

if TYPE_CHECKING:
    from pathlib import Path

NOTHING_RECORDED = "run in the folder of the site, or give --state-dir"


@pytest.mark.parametrize(
    ("words", "code", "answer"),
    [
        ("status", ExitCode.CONFIG, NOTHING_RECORDED),
        ("status --runs", ExitCode.OK, "no run is in progress"),
        ("history r12-n01", ExitCode.CONFIG, NOTHING_RECORDED),
        ("history --worst", ExitCode.OK, "no exclusion"),
        ("history --observed", ExitCode.OK, "nothing that is observed"),
        ("report", ExitCode.CONFIG, "no single run"),
        ("report --compare run-1 run-2", ExitCode.CONFIG, "no single run"),
        ("judge run-1", ExitCode.CONFIG, "no single run"),
        ("admit r12-n01 --verify", ExitCode.CONFIG, NOTHING_RECORDED),
        ("announce", ExitCode.OK, "no planned maintenance"),
        ("drain r12-n01 --reason test", ExitCode.CONFIG, NOTHING_RECORDED),
        ("release r12-n01 --reason test", ExitCode.CONFIG, NOTHING_RECORDED),
        ("forget r12-n01 --yes", ExitCode.CONFIG, NOTHING_RECORDED),
        ("breaker", ExitCode.OK, "0 members"),
        ("topology all --format slurm-tree", ExitCode.CONFIG, "no inventory is given"),
    ],
)
def test_what_only_reads_or_changes_the_record_creates_none(
    words: str, code: ExitCode, answer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main.call(words.split()) == code
    said = capsys.readouterr()
    assert answer in said.out + said.err
    assert list(tmp_path.iterdir()) == []
