"""The findings in a node's answer; what several nodes sent with the same bytes is read once. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clusterctl.core.redact import without_url_passwords
from clusterctl_validators.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterable

MALFORMED = (KeyError, ValueError, TypeError, AttributeError)
_BETWEEN_OBJECTS = b'}, {"'  # in a text, a quotation mark stands behind a backslash
_ARRAYS_AT_MOST = 16
_ARRAY_LIMIT_BYTES = 1024 * 1024
_PARTS_AT_MOST = 20_000
_PART_LIMIT_BYTES = 4096


@dataclass(frozen=True, slots=True)
class SentFindings:
    """The findings of one or more nodes, and the roles they are of."""

    findings: tuple[Finding, ...]
    roles: frozenset[str]


_arrays: dict[bytes, SentFindings] = {}
_parts: dict[bytes, Finding] = {}


def from_array(array: bytes) -> SentFindings | None:
    """The findings of a JSON array in the form in which nodes write it; None for every other text, which has to be parsed as a whole.

    The array is cut at `}, {"`, also where a text ends with `}, {`. But where every part is valid JSON by itself, the array is valid, and has exactly these objects.
    """
    known = _arrays.get(array)
    if known is not None:
        return known
    try:
        findings = _from_parts(array)
    except MALFORMED:
        return None
    if findings is None:
        return None
    sent = _sent(findings)
    if len(array) <= _ARRAY_LIMIT_BYTES:
        if len(_arrays) >= _ARRAYS_AT_MOST:
            del _arrays[next(iter(_arrays))]
        _arrays[array] = sent
    return sent


def from_entries(entries: Iterable[dict[str, Any]]) -> SentFindings:
    """The findings of a parsed array. Raises one of `MALFORMED` for anything else."""
    return _sent(tuple(map(_finding, entries)))


def clean(value: Any) -> Any:
    """Text without characters that move a terminal's cursor or break an encoder; every other value as it is."""
    if not isinstance(value, str) or value.isprintable():
        return value
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in value)


def _sent(findings: tuple[Finding, ...]) -> SentFindings:
    return SentFindings(findings, frozenset(f.role for f in findings))


def _finding(entry: dict[str, Any]) -> Finding:
    return Finding.from_json({key: _stored(clean(value)) for key, value in entry.items()})


def _stored(value: Any) -> Any:
    """Findings stay in the database and in reports: a declared address, or one that was found, may have a password in it."""
    return without_url_passwords(value) if isinstance(value, str) else value


def _from_parts(array: bytes) -> tuple[Finding, ...] | None:
    if array == b"[]":
        return ()
    if not (array.startswith(b'[{"') and array.endswith(b"}]")):
        return None
    parts = array[3:-2].split(_BETWEEN_OBJECTS)
    found = list(map(_parts.get, parts))
    if not all(found):
        found = [known or _read(part) for known, part in zip(found, parts, strict=True)]
    return tuple(filter(None, found))


def _read(part: bytes) -> Finding:
    finding = _finding(json.loads((b'{"' + part + b"}").decode("utf-8", "surrogatepass")))  # of bytes, the encoding would be guessed
    if len(part) <= _PART_LIMIT_BYTES:
        if len(_parts) >= _PARTS_AT_MOST:
            _parts.clear()
        _parts[part] = finding
    return finding
