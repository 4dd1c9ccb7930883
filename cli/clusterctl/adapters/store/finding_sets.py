"""What nodes say, kept once: a finding is one row, however many nodes say it on however many nights, and all that a node said is a list of such rows.

A list is the numbers of its findings in order, as runs: `[[1, 700], [912, 912]]`. Nodes of a class say mostly the same, so a night
in which nothing moved adds a row per node to `validations` and nothing here.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, or_, select, text

from clusterctl.adapters.store import tables as t
from clusterctl.adapters.store.repository import slices, storable_text
from clusterctl_validators.finding import Finding, Outcome, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, Row, Table

IdRanges = list[list[int]]
_CACHE_LIMIT = 20_000
# an OR of many terms is a deep expression to SQLite, which allows 1000
_RANGES_PER_QUERY = 100


@dataclass(slots=True)
class RowIds:
    """Numbers of rows that are committed. A row is never changed, so a number stays true; the tables of a fleet are too large to hold them all.

    Attributes:
        objects: by identity: equal findings of a fleet are mostly one object. Of several the newest is kept, so that its identity is its own.
        findings: by digest.
        sets: by digest.
        read: the findings of numbers, as they were read.
    """

    objects: dict[int, tuple[Finding, int]] = field(default_factory=dict)
    findings: dict[str, int] = field(default_factory=dict)
    sets: dict[str, int] = field(default_factory=dict)
    seen: dict[int, Finding] = field(default_factory=dict)

    def learn(self, new: RowIds) -> None:
        """Take in what another transaction has committed; all else is dropped once there is too much. Other threads go on with what they have."""
        if len(self.findings) + len(self.sets) > _CACHE_LIMIT:
            self.objects, self.findings, self.sets = {}, {}, {}
        if new.objects:
            newest = {number: key for key, (_, number) in (*self.objects.items(), *new.objects.items())}
            both = self.objects | new.objects
            self.objects = {key: both[key] for key in newest.values()}
        self.findings |= new.findings
        self.sets |= new.sets


def save_sets(connection: Connection, known: RowIds, said: Sequence[Sequence[Finding]]) -> tuple[list[int | None], RowIds]:
    """The number of the set of each, None for an empty one; and what `known` may learn once the transaction is committed."""
    new, objects = RowIds(), known.objects
    strange = {id(f): f for findings in said for f in findings if id(f) not in objects}
    rows = {key: _values(f) for key, f in strange.items()}
    wanted = {row["digest"]: row for row in rows.values()}
    new.findings = _row_ids(connection, t.finding_values, known.findings, wanted)
    new.objects = {key: (f, new.findings[rows[key]["digest"]]) for key, f in strange.items()}
    if new.objects:
        objects = objects | new.objects
    members = [pack_ids(objects[id(f)][1] for f in findings) for findings in said]
    digests = [hashlib.sha256(json.dumps(m).encode()).hexdigest() for m in members]
    sets = {d: {"digest": d, "members": m} for d, m in zip(digests, members, strict=True) if m}
    new.sets = _row_ids(connection, t.finding_sets, known.sets, sets)
    return [new.sets[d] if m else None for d, m in zip(digests, members, strict=True)], new


def _row_ids(connection: Connection, table: Table, known: Mapping[str, int], rows: Mapping[str, dict[str, Any]]) -> dict[str, int]:
    """The numbers of these rows, by digest; those that are not there yet are added, in the order given."""
    numbers = {d: known[d] for d in rows if d in known}
    numbers |= _stored_ids(connection, table, rows.keys() - numbers.keys())
    if len(numbers) < len(rows):
        if connection.dialect.name == "postgresql":  # SQLite's writer is alone from its beginning
            connection.execute(text(f"LOCK TABLE {table.name} IN SHARE ROW EXCLUSIVE MODE"))
            numbers |= _stored_ids(connection, table, rows.keys() - numbers.keys())
        absent = [row for d, row in rows.items() if d not in numbers]
        if absent:
            connection.execute(insert(table), absent)
            numbers |= _stored_ids(connection, table, (row["digest"] for row in absent))
    return numbers


def _stored_ids(connection: Connection, table: Table, digests: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for part in slices(digests):
        found |= {r.digest: r.id for r in connection.execute(select(table.c.digest, table.c.id).where(table.c.digest.in_(part)))}
    return found


def read_sets(connection: Connection, known: RowIds, set_id: int | None) -> tuple[Finding, ...]:
    """The findings of a set, in their order. Equal findings of a fleet are one object here, too."""
    if set_id is None:
        return ()
    runs = read_ranges(connection, [set_id])[set_id]
    rows = known.seen
    if any(number not in rows for number in unpack_ids(runs)):
        found = {
            row.id: _finding(row) for within in range_conditions(runs) for row in connection.execute(select(t.finding_values).where(within))
        }
        known.seen = rows = found | (rows if len(rows) < _CACHE_LIMIT else {})
    return tuple(rows[number] for number in unpack_ids(runs))


def read_ranges(connection: Connection, set_ids: Iterable[int]) -> dict[int, IdRanges]:
    """The runs of sets."""
    found: dict[int, IdRanges] = {}
    for part in slices(map(str, set_ids)):
        rows = connection.execute(select(t.finding_sets.c.id, t.finding_sets.c.members).where(t.finding_sets.c.id.in_(map(int, part))))
        found |= {r.id: r.members for r in rows}
    return found


def range_conditions(runs: IdRanges) -> Iterator[ColumnElement[bool]]:
    """Conditions that together mean the findings of these runs."""
    for i in range(0, len(runs), _RANGES_PER_QUERY):
        yield or_(*(t.finding_values.c.id.between(first, last) for first, last in runs[i : i + _RANGES_PER_QUERY]))


def pack_ids(numbers: Iterable[int]) -> IdRanges:
    """Numbers, in their order, as runs."""
    runs: IdRanges = []
    last = None
    for number in numbers:
        if last is not None and number == last + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
        last = number
    return runs


def unpack_ids(runs: IdRanges) -> Iterator[int]:
    """The reverse of `pack`."""
    return (number for first, last in runs for number in range(first, last + 1))


def _values(finding: Finding) -> dict[str, Any]:
    said = {
        "check": storable_text(finding.check),
        "role": storable_text(finding.role),
        "outcome": finding.outcome.value,
        "severity": finding.severity.value,
        "expected": storable_text(finding.expected),
        "found": storable_text(finding.found),
        "hint": storable_text(finding.hint),
        "reason": storable_text(finding.reason),
    }
    return {"digest": hashlib.sha256(json.dumps(list(said.values())).encode()).hexdigest(), **said}


def _finding(row: Row[Any]) -> Finding:
    return Finding(row.check, row.role, Outcome(row.outcome), Severity(row.severity), row.expected, row.found, row.hint, row.reason)
