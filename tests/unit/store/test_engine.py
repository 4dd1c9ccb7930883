"""Files and messages of the database."""

from __future__ import annotations

import os
import sqlite3
import sys
from typing import TYPE_CHECKING

import pytest
from sqlalchemy.exc import OperationalError

from clusterctl import main
from clusterctl.adapters.event_spool import EventSpool
from clusterctl.adapters.run_directory import RunDir
from clusterctl.adapters.store import Store
from clusterctl.adapters.store.database_urls import server_and_database
from clusterctl.adapters.store.engine import connect, store_errors
from clusterctl.adapters.validators.bundle import cached_file, zipped
from clusterctl.model.errors import DatabaseUrlError, StoreError
from clusterctl.model.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sqlalchemy import Engine


@pytest.fixture
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def _send_events(state: Path) -> None:
    with EventSpool(state / "events").held():
        pass


# With a database elsewhere, each of them may be the first that needs the folder.
FIRST: dict[str, Callable[[Path], object]] = {
    "the database": lambda state: Store.open(f"sqlite:///{state}/clusterctl.db").close(),
    "a run": lambda state: RunDir.create(state, "validate").write_text("gates/a/n1.json", ""),
    "the cache": lambda state: cached_file(state, {}, zipped),
    "events": _send_events,
}


@pytest.mark.usefixtures("open_umask")
@pytest.mark.parametrize("first", FIRST)
def test_others_cannot_read_or_write_the_state(tmp_path: Path, first: str) -> None:
    FIRST[first](tmp_path / "state")
    found = [tmp_path / "state", *(p for p in (tmp_path / "state").rglob("*") if p.parent.stat().st_mode & 0o077)]
    assert len(found) > 1
    assert not [p for p in found if p.stat().st_mode & 0o027]


def failing(engine: Engine, message: str) -> StoreError:
    with pytest.raises(StoreError) as caught, store_errors(engine):
        raise OperationalError("SELECT 1", {}, sqlite3.OperationalError(message))
    return caught.value


@pytest.mark.parametrize(("free_bytes", "message", "hint"), [(0, "the disk is full", "free space"), (1 << 30, "disk I/O error", "dmesg")])
def test_a_full_disk_is_not_taken_for_a_broken_one(
    free_bytes: int, message: str, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = connect(f"sqlite:///{tmp_path}/clusterctl.db")
    disk = os.statvfs_result((4096, 4096, 0, free_bytes // 4096, free_bytes // 4096, 0, 0, 0, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda _path: disk)
    found = failing(engine, "disk I/O error")
    assert message in str(found)
    assert hint in found.hint


@pytest.mark.parametrize(
    ("url", "message", "hint"),
    [
        ("foo", "Could not parse", "sqlite:////absolute/path.db or postgresql+psycopg://"),
        ("mysql://u:secret@h/db", "neither sqlite nor postgresql", "sqlite:////absolute/path.db or postgresql+psycopg://"),
        ("postgresql+asyncpg://u:secret@h/db", "neither sqlite nor postgresql+psycopg", "postgresql+psycopg://"),
        ("sqlite+nosuch:///x.db", "neither sqlite nor postgresql+psycopg", "sqlite:////absolute/path.db"),
        ("postgresql+psycopg://u:se@cret@h/db", "more than one @", "@ is %40"),
        ("postgresql+psycopg://u@h:port/db", "port", "postgresql+psycopg://"),
        ("mysql://h/db?password=secret", "neither sqlite nor postgresql", "postgresql+psycopg://"),
        ("postgresql+psycopg://h:port/db?sslpassword=secret", "port", "postgresql+psycopg://"),
    ],
)
def test_a_url_that_names_no_database_is_an_error_of_the_configuration(
    url: str, message: str, hint: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(DatabaseUrlError) as caught:
        connect(url)
    assert caught.value.exit_code is ExitCode.CONFIG
    assert message in str(caught.value)
    assert hint in caught.value.hint
    assert "[postgres]" not in caught.value.hint
    monkeypatch.setenv("CLUSTERCTL_DATABASE_URL", url)
    assert main.call(["status"]) == ExitCode.CONFIG
    printed = capsys.readouterr().err
    for text in (printed, str(caught.value)):
        assert "secret" not in text
        assert "se@cret" not in text


def test_the_driver_of_postgresql_comes_with_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(DatabaseUrlError, match="the driver psycopg is not installed") as caught:
        connect("postgresql+psycopg://u@h/db")
    assert "pip install 'clusterctl[postgres]'" in caught.value.hint


@pytest.mark.parametrize(
    "given", ["alice:hunter2@127.0.0.1:1/none?", "127.0.0.1:1/none?user=alice&password=hunter2&", "127.0.0.1:1/none?sslpassword=hunter2&"]
)
def test_no_message_has_a_secret_of_the_url(given: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"postgresql+psycopg://{given}connect_timeout=5"
    with pytest.raises(StoreError) as caught:
        Store.open(url)
    monkeypatch.setenv("CLUSTERCTL_DATABASE_URL", url)
    assert main.call(["status"]) == ExitCode.UNEXPECTED
    printed = "".join(capsys.readouterr())
    for text in (str(caught.value), caught.value.hint, printed):
        assert "hunter2" not in text
    assert "127.0.0.1:1/none" in printed


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("postgresql+psycopg://alice:x@db.example.net/clusterctl", "db.example.net:/clusterctl"),
        ("postgresql+psycopg://bob@db.example.net/clusterctl?sslmode=verify-full&sslcert=bob.pem", "db.example.net:/clusterctl"),
        ("postgresql+psycopg://db.example.net:6432/clusterctl?password=secret", "db.example.net:6432/clusterctl"),
        ("postgresql+psycopg://u@/clusterctl?host=a:5432&host=b:5433&sslmode=require", "a:5432,b:5433:/clusterctl"),
        ("postgresql+psycopg://u@/clusterctl?host=/run/postgresql", "m1 /run/postgresql:/clusterctl"),
        ("postgresql+psycopg:///clusterctl", "m1 :/clusterctl"),
        ("postgresql+psycopg://u@localhost:5432/clusterctl", "m1 localhost:5432/clusterctl"),
        ("postgresql+psycopg://u@/clusterctl?host=127.0.0.1:5432", "m1 127.0.0.1:5432:/clusterctl"),
        ("sqlite:////var/lib/site.db", "m1 :/" + "/var/lib/site.db"),
    ],
)
def test_a_database_is_one_whoever_connects_and_how(url: str, place: str) -> None:
    assert server_and_database(url, "m1") == place


def test_a_file_of_one_name_on_two_machines_is_two_databases() -> None:
    """An agent ends what an earlier run of its own owner left on a node, and nobody else's."""
    url = "sqlite:////var/lib/site.db"
    assert server_and_database(url, "m1") != server_and_database(url, "m2")
    shared = "postgresql+psycopg://u@db.example.net/clusterctl"
    assert server_and_database(shared, "m1") == server_and_database(shared, "m2")


def test_a_host_that_has_no_address_is_no_defect_of_ours() -> None:
    with pytest.raises(StoreError) as caught:
        Store.open("postgresql+psycopg://clusterctl@db.example.invalid/clusterctl")
    assert "correct the host in database_url" in caught.value.hint
