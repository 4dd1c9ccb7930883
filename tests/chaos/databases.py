"""Where a rack's record is: in a file of its folder, or in a PostgreSQL database of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from sqlalchemy import NullPool, create_engine, make_url

if TYPE_CHECKING:
    from pathlib import Path


class Databases(Protocol):
    """One database for each rack's folder."""

    @property
    def name(self) -> str:
        """As in build/chaos.json."""
        ...

    def url(self, folder: Path) -> str:
        """The address of a folder's database."""
        ...

    def create(self, folder: Path) -> None:
        """Make the empty database of a folder."""
        ...

    def copy(self, folder: Path, to: Path) -> None:
        """Make a folder's database, as it is, that of another, whose own is gone then. Called after the files were copied."""
        ...


class SqliteFiles:
    """Lie in the folder and are copied with it."""

    name = "sqlite"

    def url(self, folder: Path) -> str:
        """The address of a folder's database."""
        return f"sqlite:///{folder / 'clusterctl.db'}"

    def create(self, folder: Path) -> None:
        """SQLite makes the file when it is opened; only its folder is needed."""
        folder.mkdir(parents=True)

    def copy(self, folder: Path, to: Path) -> None:
        """Both files lie in the folders."""
        assert (folder / "clusterctl.db").read_bytes() == (to / "clusterctl.db").read_bytes()


@dataclass(frozen=True)
class PostgresDatabases:
    """Databases of one server, named by the last two parts of their folders' paths."""

    server: str
    name = "postgresql"

    def url(self, folder: Path) -> str:
        """The address of a folder's database."""
        return make_url(self.server).set(database=_name(folder)).render_as_string(hide_password=False)

    def create(self, folder: Path) -> None:
        """Make the empty database of a folder."""
        folder.mkdir(parents=True)
        self._run(f'CREATE DATABASE "{_name(folder)}"')

    def copy(self, folder: Path, to: Path) -> None:
        """The server waits some seconds for the connections of ended processes."""
        self._run(f'DROP DATABASE IF EXISTS "{_name(to)}" WITH (FORCE)', f'CREATE DATABASE "{_name(to)}" TEMPLATE "{_name(folder)}"')

    def _run(self, *statements: str) -> None:
        engine = create_engine(self.server, isolation_level="AUTOCOMMIT", poolclass=NullPool)
        with engine.connect() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement)


def _name(folder: Path) -> str:
    return f"{folder.parent.name}_{folder.name}"
