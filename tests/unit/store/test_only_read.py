"""What is recorded can be read where nothing can be written; and a database that was emptied is not taken for a new one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.store import Store
from clusterctl.adapters.store.sqlite_reader import read_hardware, read_snapshot
from clusterctl.model.errors import StoreError
from support.stores import a_node, a_run, fresh

if TYPE_CHECKING:
    from pathlib import Path

# As a full disk: each write that makes a file longer fails. Output goes through a pipe.
_FULL = (
    "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
    "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0));"
    "from clusterctl import main; sys.exit(main.call(sys.argv[1:]))"
)


def url(folder: Path) -> str:
    return f"sqlite:///{folder / 'clusterctl.db'}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with fresh(tmp_path / "state") as store:
        store.register([a_node()])
        store.start_run(a_run(), [a_node().name])
    return tmp_path / "state"


def on_a_full_disk(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _FULL, "--state-dir", str(folder), *words], capture_output=True, text=True, check=False, timeout=120
    )


@pytest.mark.parametrize("words", [("status", "all", "-o", "json"), ("history", "r12-n01", "-o", "json")])
def test_a_full_disk_hides_nothing(folder: Path, words: tuple[str, ...]) -> None:
    assert not (folder / "clusterctl.db-wal").exists()
    done = on_a_full_disk(folder, *words)
    assert done.returncode == 0, done.stderr
    assert "r12-n01" in json.dumps(json.loads(done.stdout))


def test_what_writes_is_refused_on_a_full_disk(folder: Path) -> None:
    done = on_a_full_disk(folder, "forget", "r12-n01", "--yes")
    assert done.returncode != 0
    with Store.open(url(folder)) as store:
        assert store.node("r12-n01") is not None


def test_a_folder_that_cannot_be_written_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_words: object, **_more: object) -> None:
        raise PermissionError(30, "Read-only file system")

    monkeypatch.setattr("pathlib.Path.touch", refuse)
    before = sorted(p.name for p in folder.iterdir())
    with Store.open_to_read(url(folder)) as store:
        assert [n.name for n in store.nodes()] == ["r12-n01"]
        assert [r.id for r in store.runs()] == [a_run().id]
        with pytest.raises(StoreError, match="readonly"):
            store.release(a_run().id)
    assert sorted(p.name for p in folder.iterdir()) == before
    with pytest.raises(StoreError, match="Read-only file system"):
        Store.open(url(folder))


def test_what_is_only_in_the_log_is_read_as_well(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "copy"
    with Store.open(url(folder)) as store:
        store.register([a_node("r12-n02", slot=2)])
        shutil.copytree(folder, copy)
    assert (copy / "clusterctl.db-wal").stat().st_size
    monkeypatch.setattr(Store, "open", lambda *_words: (_ for _ in ()).throw(StoreError(path="x", detail="full", hint="")))
    with Store.open_to_read(url(copy)) as store:
        assert [n.name for n in store.nodes()] == ["r12-n01", "r12-n02"]


@pytest.mark.parametrize("content", ["", "no database at all " * 100])
def test_what_cannot_be_read_either_is_an_error(tmp_path: Path, content: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "clusterctl.db").write_text(content)
    monkeypatch.setattr(Store, "open", lambda *_words: (_ for _ in ()).throw(StoreError(path="x", detail="full", hint="")))
    with pytest.raises(StoreError, match="full"):
        Store.open_to_read(url(tmp_path))


def test_an_empty_database_beside_runs_is_refused(folder: Path) -> None:
    (folder / "runs" / a_run().id).mkdir(parents=True)
    (folder / "clusterctl.db").write_text("")
    for opened in (Store.open, Store.open_to_read):
        with pytest.raises(StoreError, match="runs lie beside it") as caught:
            opened(url(folder))
        assert "from a backup" in caught.value.hint
    assert (folder / "clusterctl.db").read_text() == ""


def test_whoever_only_reads_creates_no_record(tmp_path: Path) -> None:
    with Store.open_to_read(url(tmp_path / "state")) as store:
        assert (store.nodes(), store.runs(), store.unfinished_runs()) == ((), (), ())
        with ThreadPoolExecutor(1) as other_thread:
            assert other_thread.submit(store.nodes).result() == ()
        with pytest.raises(StoreError, match="readonly"):
            store.register([a_node()])
    assert list(tmp_path.iterdir()) == []


def test_a_way_that_is_closed_or_ends_at_a_file_is_not_taken_for_a_missing_record(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "file").write_text("")
    with pytest.raises(StoreError):
        Store.open_to_read(url(folder / "file"))
    own_stat = os.stat

    def closed(path: Path, **more: bool) -> os.stat_result:
        if str(path).endswith("clusterctl.db"):
            raise PermissionError(13, "Permission denied")
        return own_stat(path, **more)

    monkeypatch.setattr("os.stat", closed)
    with pytest.raises(StoreError, match="Permission denied"):
        Store.open_to_read(url(folder))
    assert (read_snapshot(url(folder)), read_hardware(url(folder))) == (None, None)


def test_an_empty_database_without_runs_is_a_new_one(tmp_path: Path) -> None:
    (tmp_path / "clusterctl.db").touch()
    (tmp_path / "runs").mkdir()
    with Store.open(url(tmp_path)) as store:
        assert store.nodes() == ()


@pytest.mark.parametrize("address", ["postgresql+psycopg://alice:x@host:no-port/none", "alice:x@host/none", "sqlite:no-slashes", ""])
def test_an_address_that_nobody_can_read_is_an_error_of_the_store(address: str) -> None:
    with pytest.raises(StoreError):
        Store.open_to_read(address)
