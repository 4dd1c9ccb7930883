"""Searches for planted secrets: in files, texts and databases, also encoded as URLs, JSON and HTTP have them."""

from __future__ import annotations

import base64
import html
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

from sqlalchemy import create_engine, inspect, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Secrets:
    """Name -> value. Whatever contains one of them is named with it."""

    values: dict[str, str]

    def leaks(self, where: str, content: str | bytes) -> list[str]:
        """`WHERE: NAME` of every secret in `content`."""
        found = content.encode(errors="surrogateescape") if isinstance(content, str) else content
        return [f"{where}: {name}" for name, value in self.values.items() if any(form in found for form in forms(value))]

    def in_files(self, folders: Iterable[Path]) -> list[str]:
        """The files below `folders` that contain one."""
        files = sorted(p for folder in folders for p in folder.rglob("*") if p.is_file() and not p.is_symlink())
        return [leak for p in files for leak in self.leaks(str(p), p.read_bytes())]

    def in_database(self, url: str) -> list[str]:
        """The rows that contain one."""
        return [leak for table, row in _rows(url) for leak in self.leaks(table, row)]


def forms(value: str) -> set[bytes]:
    """A value as it may be written: plain, in a URL, in JSON, in HTML, in a repr, in base64 (at each of its three alignments)."""
    in_urls = {quote(value, safe=safe) for safe in ("", "/", " +")} | {quote_plus(value)}
    plain = {value, *in_urls, json.dumps(value)[1:-1], html.escape(value), repr(value)[1:-1]}
    aligned = {base64.b64encode(b"\0" * shift + value.encode())[4 if shift else 0 : -4] for shift in range(3)}
    return {p.encode() for p in plain} | aligned


def _rows(url: str) -> Iterator[tuple[str, str]]:
    engine = create_engine(url)
    try:
        with engine.connect() as connection:
            for table in inspect(engine).get_table_names():
                for row in connection.execute(text(f'SELECT * FROM "{table}"')):  # noqa: S608 the names of its own tables
                    yield table, "\n".join(map(str, row))
    finally:
        engine.dispose()
