"""Migrates the schema. Alembic is imported only if a migration is needed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import inspect, text

from clusterctl.adapters.store.database_urls import without_password
from clusterctl.adapters.store.engine import reading, writing
from clusterctl.adapters.store.schema_head import HEAD as HEAD  # noqa: PLC0414 exported by this module, too
from clusterctl.model.errors import StoreError

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

MIGRATIONS = Path(__file__).parent / "migrations"


def ensure(engine: Engine) -> None:
    """Migrate the database to HEAD.

    Raises:
        StoreError: it cannot be read or written, or was written by a newer clusterctl.
    """
    with reading(engine) as connection:
        version = _version(connection)
    if version == HEAD:
        return
    _refuse_newer(engine, version)
    with writing(engine) as connection:
        if _version(connection) != HEAD:  # another process may have been faster
            upgrade(connection)


def require_readable(engine: Engine) -> None:
    """Refuse a database that `ensure` would refuse; changes nothing.

    Raises:
        StoreError: it cannot be read, or was written by a newer clusterctl.
    """
    with reading(engine) as connection:
        version = _version(connection)
    _refuse_newer(engine, version)


def _refuse_newer(engine: Engine, version: str) -> None:
    if version > HEAD:
        raise StoreError(
            path=without_password(engine.url),
            detail=f"its schema version is {version}, this clusterctl supports {HEAD}",
            hint="use the version of clusterctl that wrote it, or a newer one",
        )


def is_present(engine: Engine) -> bool:
    """Whether a database can be read and has the schema of this clusterctl."""
    try:
        with reading(engine) as connection:
            return _version(connection) == HEAD
    except StoreError:
        return False


def _version(connection: Connection) -> str:
    if not inspect(connection).has_table("alembic_version"):
        return ""
    return str(connection.execute(text("SELECT version_num FROM alembic_version")).scalar() or "")


def upgrade(connection: Connection, revision: str = HEAD) -> None:
    """Run the migrations up to `revision` on an open transaction."""
    from alembic import command  # noqa: PLC0415 slow, and rarely needed
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, revision)
