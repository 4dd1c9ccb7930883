"""The shape of a tool's answer: what stays the same between machines, whatever the values are."""

from __future__ import annotations

import json
import re
from typing import Any
from xml.etree import ElementTree as ET

_LABEL = re.compile(r"^([A-Za-z#][^:=]*?)\s*[:=](?:\s|$)")
_DOTS = re.compile(r"^(\w+):\.+")
_NUMBER = re.compile(r"(?:0x)?\b[0-9a-f]*\d[0-9a-f]*\b(?:[.:,-][0-9a-f]+)*", re.IGNORECASE)
_UNDERLINE = re.compile(r"\x1b\[\d*m")


def lines(text: str) -> frozenset[str]:
    """The label of each `label: value` line; every other line with its numbers replaced by N."""
    return frozenset(filter(None, map(_line, text.splitlines())))


def _line(line: str) -> str:
    found = _DOTS.match(line) or _LABEL.match(line.strip())
    if found:
        return _NUMBER.sub("N", found[1]) + ":"
    return re.sub(r"(?:N\W+)+N", "N", " ".join(_NUMBER.sub("N", line).split()))


def first_words(text: str) -> frozenset[str]:
    """The first word of each line with its number replaced by N, of tables whose cells are values."""
    words = (_UNDERLINE.sub("", line).split() for line in text.splitlines())
    return frozenset(re.sub(r"\d+", "N", cells[0]) for cells in words if cells)


def headers(text: str) -> frozenset[str]:
    """The lines without a number that have words: headers and remarks of a table."""
    return frozenset(" ".join(line.split()) for line in text.splitlines() if re.search(r"[A-Za-z]{2}", line) and not re.search(r"\d", line))


def parameter_rows(text: str) -> frozenset[tuple[str, ...]]:
    """The kinds of the columns of `* NAME value value value` rows, the mark of a changed one included."""
    rows = (re.match(r"^(\*?)\s*[A-Z][A-Z0-9_]{3,}(?:\[[\d.]+\])?\s+(\S.*)$", line) for line in text.splitlines())
    return frozenset((row[1], *map(_kind, row[2].split())) for row in rows if row)


def _kind(cell: str) -> str:
    for kind, pattern in (("enum", r"\w+\(\d+\)"), ("number", r"\d+"), ("array", r"Array\[[\d.]+\]")):
        if re.fullmatch(pattern, cell):
            return kind
    return cell


def json_paths(text: str) -> frozenset[str]:
    """The paths of all keys of a document; positions in lists do not count, and numbers in keys are N."""
    return frozenset(_paths(json.loads(text[text.index("{") :])))


def _paths(value: Any, at: str = "") -> set[str]:
    if isinstance(value, list):
        return {path for item in value for path in _paths(item, at)}
    if not isinstance(value, dict):
        return set()
    found: set[str] = set()
    for key, item in value.items():
        path = f"{at}/" + re.sub(r"\d+", "N", key)
        found |= {path, *_paths(item, path)}
    return found


def xml_paths(text: str) -> frozenset[str]:
    """The paths of all elements."""
    return frozenset(_elements(ET.fromstring(text), ""))  # noqa: S314 our own output, or a recording


def _elements(element: ET.Element, at: str) -> set[str]:
    path = f"{at}/{element.tag}"
    return {path, *(p for child in element for p in _elements(child, path))}
