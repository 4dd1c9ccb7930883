"""Results on stdout: table, json, yaml. JSON always has a `schema_version` and a `kind`."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from clusterctl.terminal.safe_text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from _typeshed import DataclassInstance
    from rich.console import Console

FORMATS = ("table", "json", "yaml")
SCHEMA_VERSION = 1
# json escapes the control characters of ASCII; these are the others, with those that turn the direction of text, and surrogates.
_UNSAFE = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def envelope(kind: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """The envelope of every machine-readable result."""
    return {"schema_version": SCHEMA_VERSION, "kind": kind, **body}


def emit(output: str, kind: str, body: Mapping[str, Any]) -> None:
    """Print a document as json or yaml."""
    data = envelope(kind, body)
    if output == "yaml":
        sys.stdout.write(_yaml(data))
    else:
        sys.stdout.write(_json(data) + "\n")


def emit_document(output: str, kind: str, document: DataclassInstance) -> None:
    """Print a document of a class whose schema is generated. A field as `from_`, whose name is a word of Python, is printed without its underscore."""
    emit(output, kind, asdict(document, dict_factory=lambda fields: {name.removesuffix("_"): value for name, value in fields}))


def emit_parts(output: str, kind: str, body: Mapping[str, Any], name: str, items: Iterable[Any]) -> None:
    """As `emit`, with the list `name` at the end of the body: printed item by item, for lists that do not fit in memory as text."""
    if output == "yaml":
        sys.stdout.write(_yaml(envelope(kind, body)) + f"{name}:")
        between = "\n"
        for item in items:
            sys.stdout.write(between + _yaml([item]))
            between = ""
        sys.stdout.write(" []\n" if between else "")
    else:
        sys.stdout.writelines(json_parts(envelope(kind, body), name, items))


def json_parts(body: Mapping[str, Any], name: str, items: Iterable[Any]) -> Iterator[str]:
    """The indented JSON of a body with the list `name` at its end: yields one piece per item."""
    yield _json(body).removesuffix("\n}") + f",\n  {json.dumps(name)}: ["
    between = "\n    "
    for item in items:
        yield between + _json(item).replace("\n", "\n    ")
        between = ",\n    "
    yield "\n  ]\n}\n"


def _yaml(data: Any) -> str:
    """The values of JSON, because an enum is not one of YAML's. PyYAML prints changes of direction as they are: then all but ASCII is escaped."""
    import yaml  # noqa: PLC0415 only where requested

    text = json.dumps(data, ensure_ascii=False)
    dumped: str = yaml.safe_dump(json.loads(text), sort_keys=False, allow_unicode=_UNSAFE.search(text) is None)
    return dumped


def _json(data: Any) -> str:
    text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)
    return text if text.isascii() else _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def print_text(content: str) -> None:
    """Print text as it is."""
    sys.stdout.write(content if content.endswith("\n") else content + "\n")


def texts(parts: Iterable[str]) -> None:
    """Print a text in pieces, and end its last line."""
    sys.stdout.writelines(parts)
    sys.stdout.write("\n")


def print_lines(lines: Iterable[str]) -> None:
    """Print lines that end themselves."""
    sys.stdout.writelines(lines)


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> None:
    """Print a table; plain aligned text where stdout is not a terminal."""
    rows = [[printable(cell) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        widths = [_width(i, (columns, *rows)) for i in range(len(columns))]
        for line in (columns, *rows):
            sys.stdout.write("  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() + "\n")
        return
    from rich.table import Table  # noqa: PLC0415 heavy, only for people
    from rich.text import Text  # noqa: PLC0415

    grid = Table(title=title or None, header_style="bold")
    for column in columns:
        grid.add_column(column)
    for row in rows:
        grid.add_row(*map(Text, row))
    terminal_console().print(grid)


def _width(column: int, lines: Sequence[Sequence[str]]) -> int:
    """The longest cell that has another to its right: one that ends its line pushes nothing away."""
    return max((len(line[column]) for line in lines if any(line[column + 1 :])), default=0)


def terminal_console(*, stderr: bool = False) -> Console:
    """The terminal of this process; NO_COLOR leaves no escape sequence at all, while rich would still write bold text."""
    from rich.console import Console as RichConsole  # noqa: PLC0415 heavy, only for people

    return RichConsole(stderr=stderr, color_system=None if os.environ.get("NO_COLOR") else "auto")
