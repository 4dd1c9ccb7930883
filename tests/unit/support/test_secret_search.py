"""The search for planted secrets finds them however they are written."""

from __future__ import annotations

import base64
import json
import sqlite3
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import URL

from support.secret_search import Secrets

if TYPE_CHECKING:
    from pathlib import Path

VALUE = "planted 'Q7'/\"+& größe"
SECRETS = Secrets({"bmc": VALUE, "other": "never-written-anywhere"})


@pytest.mark.parametrize(
    "content",
    [
        f"login failed for admin/{VALUE}!",
        json.dumps({"bmc_password": VALUE}),
        URL.create("postgresql+psycopg", "alice", VALUE, "127.0.0.1").render_as_string(hide_password=False),
        *(base64.b64encode(f"{user}:{VALUE}".encode()) for user in ("a", "ad", "adm")),
        repr({"password": VALUE}),
    ],
)
def test_a_secret_is_found(content: str | bytes, tmp_path: Path) -> None:
    assert SECRETS.leaks("x", content) == ["x: bmc"]
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_bytes(content if isinstance(content, bytes) else content.encode())
    assert SECRETS.in_files([tmp_path]) == [f"{tmp_path}/a/file: bmc"]


def test_other_text_has_none() -> None:
    assert SECRETS.leaks("x", "planted 'Q7' in a garden, ********") == []


def test_a_secret_in_a_database_is_found(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "x.db") as database:
        database.execute("create table runs (id integer, argv text)")
        database.execute("insert into runs values (1, ?)", (json.dumps(["-e", f"bmc_password={VALUE}"]),))
    database.close()
    assert SECRETS.in_database(f"sqlite:///{tmp_path}/x.db") == ["runs: bmc"]
