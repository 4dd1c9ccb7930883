from __future__ import annotations

import os
import select
from typing import TYPE_CHECKING

import pytest

from clusterctl_lab.simulator.file_watcher import FileWatcher

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(params=["told by the kernel", "looking"])
def watcher(request: pytest.FixtureRequest) -> FileWatcher:
    made = FileWatcher()
    if made.fd is None:
        pytest.skip("no inotify instance is left on this machine")
    if request.param == "looking":
        os.close(made.fd)
        made.fd = None
    return made


def happened(watcher: FileWatcher) -> list[str]:
    if watcher.fd is not None:
        select.select([watcher.fd], [], [], 5)
    return watcher.changed()


def test_a_written_file_is_seen_once(watcher: FileWatcher, tmp_path: Path) -> None:
    file = tmp_path / "nr"
    file.write_text("0")
    watcher.watch(str(file))
    assert watcher.changed() == []
    file.write_text("12")
    assert happened(watcher) == [str(file)]
    assert watcher.changed() == []


def test_a_file_moved_into_a_folder_is_seen(watcher: FileWatcher, tmp_path: Path) -> None:
    (tmp_path / "seed").mkdir()
    watcher.watch(str(tmp_path / "seed"))
    (tmp_path / "new").write_text("[]")
    (tmp_path / "new").replace(tmp_path / "seed" / "faults.json")
    assert happened(watcher) == [str(tmp_path / "seed")]


def test_what_is_not_there_cannot_be_watched(watcher: FileWatcher, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        watcher.watch(str(tmp_path / "absent"))
