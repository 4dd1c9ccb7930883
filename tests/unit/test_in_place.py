"""A device or a pipe that is named as output is written to: a file in its place would take it from every program of the machine."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.in_place import is_written_in_place
from clusterctl.adapters.metrics_file import replace_metrics
from clusterctl.adapters.run_directory import write_atomically

if TYPE_CHECKING:
    from collections.abc import Callable


def _record(path: Path) -> None:
    write_atomically(path, "one\n")


def _metrics(path: Path) -> None:
    replace_metrics(path, "one\n")


@pytest.mark.parametrize("write", [_record, _metrics])
def test_a_pipe_gets_the_text_and_stays_a_pipe(tmp_path: Path, write: Callable[[Path], None]) -> None:
    pipe, got = tmp_path / "pipe", list[str]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()), daemon=True)
    reader.start()
    write(pipe)
    reader.join(10)
    assert got == ["one\n"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert [p.name for p in tmp_path.iterdir()] == ["pipe"]


@pytest.mark.parametrize("path", ["/dev/null", "/dev/full", "/proc/self/exe", "/dev/fd/0", "/dev/stdin"])
def test_what_the_kernel_or_the_shell_put_there_is_written_in_place(path: str) -> None:
    assert is_written_in_place(Path(path))


def test_files_links_to_files_folders_and_what_does_not_exist_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("file")
    assert not any(is_written_in_place(tmp_path / name) for name in ("file", "link", "none", "."))
