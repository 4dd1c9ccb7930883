"""Creation and migration of the database, and its errors."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text

from clusterctl.adapters.store import Store, engine, schema
from clusterctl.adapters.store.engine import connect, writing
from clusterctl.adapters.store.tables import metadata
from clusterctl.model.errors import StoreError
from support.stores import fresh

if TYPE_CHECKING:
    from pathlib import Path


def test_head_is_the_newest_migration() -> None:
    config = Config()
    config.set_main_option("script_location", str(schema.MIGRATIONS))
    config.set_main_option("path_separator", "os")
    assert ScriptDirectory.from_config(config).get_heads() == [schema.HEAD]


def test_the_migrations_create_the_tables(tmp_path: Path) -> None:
    store = Store.open(f"sqlite:///{tmp_path / 'x.db'}")
    with store._engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_opening_again_does_not_import_alembic(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'x.db'}"
    Store.open(url).close()
    code = f"import sys; from clusterctl.adapters.store import Store; Store.open({url!r}); print('alembic' in sys.modules)"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ | {"PYTHONPATH": ":".join(sys.path)}
    )
    assert found.stdout.strip() == "False"


def test_sqlite_uses_wal_and_foreign_keys(tmp_path: Path) -> None:
    store = fresh(tmp_path)
    with store._engine.connect() as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
        assert connection.execute(text("PRAGMA foreign_keys")).scalar() == 1


def test_a_database_of_a_newer_clusterctl_is_refused(tmp_path: Path) -> None:
    store = fresh(tmp_path)
    with writing(store._engine) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StoreError, match="9999") as caught:
        Store.open(f"sqlite:///{tmp_path / 'clusterctl.db'}")
    assert "newer" in caught.value.hint


def test_a_foreign_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_text("this is a text file, not a database, and long enough to be read as one\n" * 50)
    with pytest.raises(StoreError, match="not a database") as caught:
        Store.open(f"sqlite:///{tmp_path / 'x.db'}")
    assert "move it away" in caught.value.hint


def test_a_directory_that_cannot_be_created_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError) as caught:
        Store.open(f"sqlite:///{tmp_path / 'file' / 'x.db'}")
    assert "--state-dir" in caught.value.hint


@pytest.mark.parametrize("url", ["no url at all", "martian://host/db"])
def test_a_malformed_url_is_an_error(url: str) -> None:
    with pytest.raises(StoreError) as caught:
        Store.open(url)
    assert "postgresql+psycopg" in caught.value.hint


@pytest.mark.parametrize("password", ["hun@ter2", "hun@ter2/x", "hun/@ter2", "h:un@ter:2"])
def test_a_password_that_is_not_percent_encoded_is_an_error_that_shows_no_part_of_it(password: str) -> None:
    with pytest.raises(StoreError, match="not percent-encoded") as caught:
        Store.open(f"postgresql+psycopg://alice:{password}@127.0.0.1:1/none")
    assert "ter" not in str(caught.value)
    assert "%40" in caught.value.hint


def test_a_port_that_is_no_number_is_an_error() -> None:
    with pytest.raises(StoreError, match="no-port"):
        Store.open("postgresql+psycopg://alice:hunter2@host:no-port/none")


def test_no_message_contains_the_password() -> None:
    with pytest.raises(StoreError) as caught:
        Store.open("martian://alice:hunter2@host/db")
    assert "hunter2" not in str(caught.value)


def test_two_processes_can_create_the_database_at_the_same_time(tmp_path: Path) -> None:
    code = f"from clusterctl.adapters.store import Store; Store.open('sqlite:///{tmp_path}/x.db').close()"
    both = [subprocess.Popen([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": ":".join(sys.path)}) for _ in range(2)]
    assert [p.wait(timeout=60) for p in both] == [0, 0]


def test_opening_waits_for_another_process_that_creates_the_file(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "x.db", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN EXCLUSIVE")
    threading.Timer(0.3, lambda: other.execute("COMMIT")).start()
    Store.open(f"sqlite:///{tmp_path / 'x.db'}").close()


def test_a_new_file_that_stays_locked_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "BUSY_TIMEOUT_S", 0.1)
    other = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreError, match="locked"):
        Store.open(f"sqlite:///{tmp_path / 'x.db'}")


def test_a_full_disk_is_reported_and_rolled_back(tmp_path: Path) -> None:
    store = fresh(tmp_path)
    with writing(store._engine) as connection:
        pages = connection.execute(text("PRAGMA page_count")).scalar()
        connection.execute(text("CREATE TABLE filler (x)"))

    def fill() -> None:
        with writing(store._engine) as connection:
            connection.execute(text(f"PRAGMA max_page_count = {pages}"))
            connection.execute(text("INSERT INTO filler VALUES (zeroblob(1000000))"))

    with pytest.raises(StoreError, match="full") as caught:
        fill()
    assert "free space" in caught.value.hint
    with connect(f"sqlite:///{tmp_path / 'clusterctl.db'}").connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM filler")).scalar() == 0
