"""The database engine: settings of SQLite, transactions, and driver errors converted to StoreError."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, event, select
from sqlalchemy.exc import ArgumentError, DatabaseError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import StaticPool

from clusterctl.adapters.store.database_urls import parsed_url, without_credentials, without_password
from clusterctl.adapters.store.error_hints import database_hint
from clusterctl.adapters.store.sqlite_reader import has_file
from clusterctl.adapters.store.tables import shards
from clusterctl.model.errors import DatabaseUrlError, StaleTokenError, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import URL

    from clusterctl.model.shard import Fence

BUSY_TIMEOUT_S = 20
_FENCE = "clusterctl_fence"
_RETRY_S = 0.02
_URL_HINT = "write database_url as sqlite:////absolute/path.db or postgresql+psycopg://user@host/name; in a password, @ is %40"
# The write-ahead log and its index need this much.
_LEAST_FREE_BYTES = 128 * 1024


def connect(url: str) -> Engine:
    """An engine for a SQLAlchemy URL; creates the directory of a SQLite file.

    Raises:
        DatabaseUrlError: malformed URL, another kind of database, or missing driver.
        StoreError: the directory cannot be created.
    """
    try:
        parsed = parsed_url(url)
        if parsed.get_backend_name() == "sqlite":
            return _sqlite(parsed)
        return create_engine(parsed, pool_pre_ping=True)
    except (ArgumentError, NoSuchModuleError, ValueError) as e:
        raise DatabaseUrlError(url=without_credentials(url), detail=str(e).splitlines()[0], hint=_URL_HINT) from e
    except ImportError as e:
        hint = "pip install 'clusterctl[postgres]'" if e.name == "psycopg" else _URL_HINT
        raise DatabaseUrlError(url=without_password(url), detail=f"the driver {e.name} is not installed", hint=hint) from e


def _sqlite(url: URL) -> Engine:
    if url.database:
        folder = Path(url.database).parent
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o750)
            _refuse_emptied(Path(url.database))
            Path(url.database).touch(mode=0o640)
        except OSError as e:
            raise StoreError(path=folder, detail=e.strerror or str(e), hint="choose another directory with --state-dir") from e
    engine = create_engine(url, connect_args={"timeout": BUSY_TIMEOUT_S}, json_deserializer=_from_json)

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # the driver would begin too late for a read that is followed by a write
        cursor = connection.cursor()
        _enable_wal(cursor)
        cursor.execute("PRAGMA synchronous=FULL")
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.close()

    _begin_with_lock(engine)
    return engine


def connect_to_read(url: str) -> Engine | None:
    """An engine for an existing SQLite file that writes nothing, beside the file neither; None for another database.

    With a write-ahead log, SQLite reads a file only if it can make the log's index beside it, or if nobody writes to the file
    (https://sqlite.org/wal.html, "Read-Only Databases"): so the second way is taken only where no log is left.
    """
    try:
        parsed = parsed_url(url)
    except (ArgumentError, ValueError):
        return None  # `connect` names what is wrong with it
    file = Path(parsed.database or "").absolute()
    if parsed.get_backend_name() != "sqlite" or not has_file(file):
        return None
    log = Path(f"{file}-wal")
    fixed = "" if log.is_file() and log.stat().st_size else "&immutable=1"
    address = f"file:{quote(str(file))}?mode=ro{fixed}"
    engine = create_engine(
        parsed,
        creator=lambda: sqlite3.connect(address, timeout=BUSY_TIMEOUT_S, uri=True, isolation_level=None, check_same_thread=False),
        json_deserializer=_from_json,
    )
    _begin_with_lock(engine)
    return engine


def lacks_file(url: str) -> bool:
    """Whether this is the URL of a SQLite file that does not exist. What is wrong with a URL, or with the way to its file, `connect` names."""
    try:
        parsed = parsed_url(url)
    except (ArgumentError, ValueError):
        return False
    if parsed.get_backend_name() != "sqlite" or not parsed.database:
        return False
    try:
        Path(parsed.database).stat()
    except OSError as e:
        return isinstance(e, FileNotFoundError)
    return False


def connect_to_memory() -> Engine:
    """An engine for an empty database that all threads share and that nothing else can open."""
    engine = create_engine(
        "sqlite://",
        creator=lambda: sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False),
        poolclass=StaticPool,
        json_deserializer=_from_json,
    )
    _begin_with_lock(engine)
    return engine


def only_to_read(engine: Engine) -> Engine:
    """The same SQLite engine; from now on it refuses to write."""
    with store_errors(engine), engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA query_only=ON")
    return engine


def refuse_emptied(url: str) -> None:
    """Refuse a SQLite file that lost its content.

    Raises:
        StoreError: the URL is of one.
    """
    if url.startswith("sqlite"):
        _refuse_emptied(Path(parsed_url(url).database or ""))


def _refuse_emptied(file: Path) -> None:
    """A new database has no runs yet: an empty file beside runs is what a full disk or a failed copy left of one.

    Raises:
        StoreError: it is.
    """
    runs = file.parent / "runs"
    if file.is_file() and not file.stat().st_size and runs.is_dir() and any(runs.iterdir()):
        detail = "the database is empty, and runs lie beside it: what it recorded is lost"
        hint = f"docs/how-to/backup-and-restore.md: restore {file.name} from a backup, with no -wal or -shm beside it, or start anew"
        raise StoreError(path=file, detail=detail, hint=hint)


def _begin_with_lock(engine: Engine) -> None:
    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("writes") else "BEGIN")


def _enable_wal(cursor: sqlite3.Cursor) -> None:
    """Set the journal mode. SQLite does not wait if another process changes the mode of a new file, so this retries."""
    until = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as e:
            if "locked" not in str(e) or time.monotonic() > until:
                raise
            time.sleep(_RETRY_S)
        else:
            return


def _from_json(text: str) -> Any:
    """Like json.loads, with a cache for lists of strings: the groups of nodes repeat thousands of times, and copying a list is cheap."""
    words = _string_list(text)
    return json.loads(text) if words is None else list(words)


@lru_cache(maxsize=4096)
def _string_list(text: str) -> tuple[str, ...] | None:
    data = json.loads(text)
    return tuple(data) if isinstance(data, list) and all(isinstance(d, str) for d in data) else None


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A transaction that only reads."""
    with store_errors(engine), engine.begin() as connection:
        yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that writes. On SQLite it takes the write lock at its beginning.

    Raises:
        StaleTokenError: the engine is `fenced`, and another worker has taken the shard.
    """
    with store_errors(engine), engine.execution_options(writes=True).begin() as connection:
        fence = fence_of(connection)
        if fence:
            _require_current(connection, fence)
        yield connection


def fenced(engine: Engine, fence: Fence) -> Engine:
    """The same engine for the worker of a shard: each of its transactions writes only while the worker's token is the newest."""
    return engine.execution_options(**{_FENCE: fence})


def fence_of(connection: Connection) -> Fence | None:
    """The fence of the engine of a connection."""
    found: Fence | None = connection.get_execution_options().get(_FENCE)
    return found


def _require_current(connection: Connection, fence: Fence) -> None:
    """The row stays locked until the transaction ends: a worker that takes the shard waits for it."""
    query = select(shards.c.token).where(shards.c.id == fence.shard_id).with_for_update(read=True)
    newest = connection.execute(query).scalar()
    if newest != fence.token:
        raise StaleTokenError(shard_id=fence.shard_id, token=fence.token, newest=newest)


@contextmanager
def store_errors(engine: Engine) -> Iterator[None]:
    """Convert errors of the driver to a StoreError with a hint."""
    try:
        yield
    except DatabaseError as e:
        detail = str(e.orig).strip().splitlines()[0]
        if "disk i/o error" in detail.lower() and _is_full(engine):
            detail = "the disk is full"  # SQLite reports that only if the database itself could not grow, not for its journal
        raise StoreError(path=_location(engine), detail=detail, hint=database_hint(engine.dialect.name, detail)) from e
    except SQLAlchemyError as e:
        raise StoreError(path=_location(engine), detail=str(e).splitlines()[0], hint="run again with --debug and report it") from e


def _location(engine: Engine) -> str:
    return engine.url.database or "memory" if engine.dialect.name == "sqlite" else without_password(engine.url)


def _is_full(engine: Engine) -> bool:
    if engine.dialect.name != "sqlite" or not engine.url.database:
        return False
    disk = os.statvfs(Path(engine.url.database).parent)
    return disk.f_bavail * disk.f_frsize < _LEAST_FREE_BYTES
