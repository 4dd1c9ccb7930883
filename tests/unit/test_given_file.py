"""Files that a person names never block a command, fill its memory or end it with a traceback."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.adapters.config import read_config
from clusterctl.adapters.given_file import read_given
from clusterctl.adapters.plan_file import read_plan
from clusterctl.adapters.raw_records import read_all, read_header
from clusterctl.main import call
from clusterctl.model.errors import ConfigError
from clusterctl.model.exit_codes import ExitCode
from clusterctl.workflows.judge_again import _read_baselines

if TYPE_CHECKING:
    from collections.abc import Callable


def fifo(folder: Path) -> Path:
    path = folder / "pipe"
    os.mkfifo(path)
    return path


def deep(folder: Path) -> Path:
    path = folder / "deep"
    path.write_text("[" * 200_000)
    return path


def test_only_regular_files_of_a_limited_size_are_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    assert read_given(tmp_path / "file", 5) == b"12345"
    for file, why in ((tmp_path / "file", "larger than 4 bytes"), (fifo(tmp_path), "not a regular"), (Path("/dev/zero"), "not a regular")):
        with pytest.raises(OSError, match=why):
            read_given(file, 4)
    with pytest.raises(IsADirectoryError):
        read_given(tmp_path)


@pytest.mark.parametrize("make", [fifo, deep, lambda _: Path("/dev/zero"), lambda folder: folder])
@pytest.mark.parametrize("read", [read_plan, _read_baselines])
def test_a_file_of_another_kind_or_depth_is_an_error_with_its_name(
    tmp_path: Path, make: Callable[[Path], Path], read: Callable[[Path], Any]
) -> None:
    file = make(tmp_path)
    with pytest.raises(ConfigError, match=str(file)):
        read(file)


@pytest.mark.parametrize("make", [fifo, deep])
def test_a_configuration_of_another_kind_or_depth_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], Path]
) -> None:
    monkeypatch.setenv("CLUSTERCTL_CONFIG", str(make(tmp_path)))
    with pytest.raises(ConfigError):
        read_config()


def test_a_pipe_among_the_records_of_a_run_blocks_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "gates" / "dcgm_diag"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "n1.json")
    with pytest.raises(ConfigError, match="not a regular file"):
        read_all(tmp_path)
    with pytest.raises(ConfigError, match="contains no burn-in"):
        read_header(folder)


def test_parse_of_a_pipe_names_standard_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["parse", "nvbandwidth", str(fifo(tmp_path))]) == ExitCode.CONFIG
    assert "`-` for standard input" in capsys.readouterr().err
