"""A path that the operating system refuses is an error with its reason, for every command; only what has no path is a defect of ours."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from clusterctl import main
from clusterctl.commands.refused_paths import path_refused
from clusterctl.model.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_ROOT_BYPASSES = ["-dac_override", "-dac_read_search"]


def _bound_by_modes() -> list[str]:
    """What starts a command whose user the modes of files bind, as they do not bind root."""
    without = ",".join(_ROOT_BYPASSES)
    return ["setpriv", "--bounding-set", without, "--inh-caps", without] if os.geteuid() == 0 else []


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "closed"
    folder.mkdir(mode=0)
    yield folder
    folder.chmod(0o700)


@pytest.mark.parametrize(
    "words",
    [
        ("inventory", "-i", "{}"),
        ("profile", "check", "-i", "{}"),
        ("doctor", "-i", "{}"),
        ("judge", "{}"),
        ("report", "--out", "{}/report.html"),
        ("init", "{}"),
    ],
    ids=" ".join,
)
def test_a_closed_folder_above_a_path_is_named(tmp_path: Path, closed: Path, words: tuple[str, ...]) -> None:
    path = closed / "x"
    argv = [*_bound_by_modes(), sys.executable, "-m", "clusterctl.main", *(w.format(path) for w in words)]
    ended = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == ExitCode.CONFIG
    assert ended.stderr.startswith(f"error: {path}")
    assert ": Permission denied\nhint: `namei -l " in ended.stderr


@pytest.mark.parametrize("words", [("init", "/proc/x"), ("drift", "all", "--write-nightly", "/proc/x")], ids=" ".join)
def test_a_folder_that_cannot_be_made_is_a_path_that_cannot_be_used(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main.call([*words]) == ExitCode.CONFIG
    assert capsys.readouterr().err.startswith("error: /proc/x: No such file or directory\nhint: ")


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.ENOSPC, errno.ENAMETOOLONG], ids=errno.errorcode.get)
def test_the_reason_of_the_operating_system_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: int
) -> None:
    def refused(*_args: object, **_options: object) -> None:
        raise OSError(number, os.strerror(number), "/srv/site")

    monkeypatch.setattr("clusterctl.main.cli.main", refused)
    assert main.call(["status"]) == ExitCode.CONFIG
    assert capsys.readouterr().err.startswith(f"error: /srv/site: {os.strerror(number)}\nhint: ")


def test_with_debug_the_place_is_shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def refused(*_args: object, **_options: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", "/srv/site")

    monkeypatch.setattr("clusterctl.main.cli.main", refused)
    assert main.call(["--debug", "status"]) == ExitCode.CONFIG
    printed = capsys.readouterr().err
    assert "in refused" in printed
    assert "error: /srv/site: Permission denied\n" in printed


@pytest.mark.parametrize(
    "problem",
    [
        PermissionError(errno.EPERM, "Operation not permitted"),
        FileNotFoundError(errno.ENOENT, "No such file or directory", "/srv/site"),
        OSError(errno.EBADF, "Bad file descriptor", "/srv/site"),
        ValueError("a bug"),
    ],
    ids=repr,
)
def test_other_errors_stay_defects(problem: Exception) -> None:
    assert path_refused(problem) is None
