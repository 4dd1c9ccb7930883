from __future__ import annotations

import os
import select
from typing import TYPE_CHECKING

import pytest

from clusterctl_lab.simulator.file_watcher import FileWatcher

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(params=["inotify", "polling"])
def watcher(request: pytest.FixtureRequest) -> FileWatcher:
    made = FileWatcher()
    if made.fd is None:
        pytest.skip("no inotify instance is left on this machine")
    if request.param == "polling":
        os.close(made.fd)
        made.fd = None
    return made


def wait_for_changes(watcher: FileWatcher) -> list[str]:
    if watcher.fd is not None:
        select.select([watcher.fd], [], [], 5)
    return watcher.changed()


def test_a_write_is_reported_once(watcher: FileWatcher, tmp_path: Path) -> None:
    file = tmp_path / "nr"
    file.write_text("0")
    watcher.watch(str(file))
    assert watcher.changed() == []
    file.write_text("12")
    assert wait_for_changes(watcher) == [str(file)]
    assert watcher.changed() == []


def test_a_file_moved_into_a_folder_is_reported(watcher: FileWatcher, tmp_path: Path) -> None:
    (tmp_path / "seed").mkdir()
    watcher.watch(str(tmp_path / "seed"))
    (tmp_path / "new").write_text("[]")
    (tmp_path / "new").replace(tmp_path / "seed" / "faults.json")
    assert wait_for_changes(watcher) == [str(tmp_path / "seed")]


def test_a_missing_file_cannot_be_watched(watcher: FileWatcher, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        watcher.watch(str(tmp_path / "absent"))
