"""The SQLite reader returns the same as the store, or None if a store is needed."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from clusterctl import main
from clusterctl.adapters import processes
from clusterctl.adapters.store import sqlite_reader
from clusterctl.model.findings import NodeStatus
from clusterctl.model.holder import Holder
from clusterctl.model.state import State
from support.stores import a_node, a_run, findings, fresh

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from clusterctl.adapters.store import Store

GONE = Holder(processes.current().host, 1, "another-boot/pid:[1]/1")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with fresh(tmp_path) as opened:
        opened.register([a_node(f"n{i}", rack=f"rack_{3 - i}", slot=i) for i in range(4)])
        yield opened


def url(folder: Path) -> str:
    return f"sqlite:///{folder / 'clusterctl.db'}"


def alter(folder: Path, statement: str) -> None:
    with closing(sqlite3.connect(folder / "clusterctl.db")) as database, database:
        database.execute(statement)


def test_the_snapshot_equals_the_data_of_the_store(store: Store, tmp_path: Path) -> None:
    store.start_run(a_run(), ["n1"])
    store.acquire(["n1", "n2"], run_id=a_run().id, holder="alice")
    alter(
        tmp_path,
        "UPDATE nodes SET state = 'quarantined', reason = 'text: \u00e9', reason_code = 'role.ofed', spec_digest = 'x', epoch = 3 WHERE name = 'n2'",
    )
    store.save_findings(a_run().id, findings(node="n1", status=NodeStatus.UNREACHABLE, detail="no route"), findings(node="n2"))
    assert sqlite_reader.read_snapshot(url(tmp_path)) == sqlite_reader.StoreSnapshot(store.nodes(), store.leases(), store.unanswered())
    assert [x.node for x in store.unanswered()] == ["n1"]
    assert [n.state for n in store.nodes() if n.name == "n2"] == [State.QUARANTINED]
    assert store.unfinished_runs() == ()


def test_a_dead_run_needs_the_store(store: Store, tmp_path: Path) -> None:
    store.start_run(replace(a_run(), holder=GONE), ["n1"])
    assert store.unfinished_runs()
    assert sqlite_reader.read_snapshot(url(tmp_path)) is None


def test_status_is_the_same_with_reader_and_store(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store.acquire(["n1"], run_id="run-1", holder="alice")
    documents = []
    for _ in range(2):
        assert main.call(["--state-dir", str(tmp_path), "status", "all", "-o", "json"]) == 0
        documents.append(json.loads(capsys.readouterr().out))
        monkeypatch.setattr(sqlite_reader, "read_snapshot", lambda _url: None)
    assert documents[0] == documents[1]
    assert len(documents[0]["nodes"]) == 4


@pytest.mark.parametrize(
    "statement",
    ["UPDATE alembic_version SET version_num = '0001'", "DROP TABLE leases", "DROP TABLE alembic_version", "DELETE FROM alembic_version"],
)
def test_another_schema_needs_the_store(store: Store, tmp_path: Path, statement: str) -> None:
    store.close()
    alter(tmp_path, statement)
    assert sqlite_reader.read_snapshot(url(tmp_path)) is None


@pytest.mark.parametrize(
    "other", ["postgresql+psycopg://u@h/n", "sqlite:///:memory:", "sqlite:///absent.db", "sqlite:///x.db?mode=ro", "nonsense", ""]
)
def test_another_database_needs_the_store(other: str) -> None:
    assert sqlite_reader.read_snapshot(other) is None


def test_a_file_that_is_not_a_database_needs_the_store(tmp_path: Path) -> None:
    (tmp_path / "clusterctl.db").write_text("no database at all " * 100)
    assert sqlite_reader.read_snapshot(url(tmp_path)) is None


def test_no_file_is_created(tmp_path: Path) -> None:
    assert sqlite_reader.read_snapshot(url(tmp_path)) is None
    assert list(tmp_path.iterdir()) == []
