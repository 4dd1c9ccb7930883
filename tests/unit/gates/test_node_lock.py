"""The lock of a node is root's own: links and locks of other users neither lead it elsewhere nor block it."""

from __future__ import annotations

import importlib
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType


@pytest.fixture
def node_lock(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "roles" / "burnin" / "files"))
    return importlib.import_module("node_lock")


def test_the_folder_of_the_lock_is_made_for_one_user(tmp_path: Path, node_lock: ModuleType) -> None:
    lock_fd, why = node_lock.lock_node(str(tmp_path / "own" / "burnin.lock"), "o1")
    os.close(lock_fd)
    assert why == ""
    assert (tmp_path / "own").stat().st_mode & 0o777 == 0o700


def test_a_link_is_not_followed(tmp_path: Path, node_lock: ModuleType) -> None:
    (tmp_path / "precious").write_text("content")
    (tmp_path / "burnin.lock").symlink_to(tmp_path / "precious")
    assert "Too many levels of symbolic links" in node_lock.lock_node(str(tmp_path / "burnin.lock"), "o1")[1]
    assert (tmp_path / "precious").read_text() == "content"


@pytest.mark.parametrize(("folder", "file"), [(0o777, 0o600), (0o1777, 0o600), (0o700, 0o666)])
def test_a_place_where_others_may_write_is_refused(tmp_path: Path, node_lock: ModuleType, folder: int, file: int) -> None:
    (tmp_path / "lock").mkdir()
    (tmp_path / "lock" / "burnin.lock").touch()
    (tmp_path / "lock" / "burnin.lock").chmod(file)
    (tmp_path / "lock").chmod(folder)
    assert "others may write there" in node_lock.lock_node(str(tmp_path / "lock" / "burnin.lock"), "o1")[1]


def test_a_folder_that_is_a_link_is_refused(tmp_path: Path, node_lock: ModuleType) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "lock").symlink_to(tmp_path / "other")
    assert "others may write there" in node_lock.lock_node(str(tmp_path / "lock" / "burnin.lock"), "o1")[1]


def test_a_process_that_ends_while_it_is_looked_at_hides_no_holder(
    tmp_path: Path, node_lock: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    holder = subprocess.Popen(["sleep", "60"], pass_fds=[fd := os.open(tmp_path / "lock", os.O_CREAT | os.O_RDWR)])
    gone = subprocess.Popen(["sleep", "60"])
    real = os.scandir

    def scandir(folder: object) -> object:
        if str(folder) == f"/proc/{gone.pid}/fd":
            raise FileNotFoundError(2, "No such file or directory", str(folder))
        return real(folder)  # type: ignore[call-overload]

    monkeypatch.setattr(os, "scandir", scandir)
    try:
        assert node_lock.holders(str(tmp_path / "lock")) == [holder.pid]
    finally:
        os.close(fd)
        for process in (holder, gone):
            process.kill()
            process.wait()
