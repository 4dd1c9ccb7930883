"""Deduplicated findings: a finding is stored once for all nodes and runs; a validation refers to a set of findings.

A set is the ids of its findings in order, as ranges: `[[1, 700], [912, 912]]`. Nodes of a class have mostly equal findings, so a
drift run without changes adds one row per node to `validations` and nothing here.
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
# SQLite limits the depth of an expression to 1000, and each term of an OR adds a level
_RANGES_PER_QUERY = 100


@dataclass(slots=True)
class RowIds:
    """A cache of the ids of committed rows. Rows never change, so entries stay valid; its size is limited, because a fleet has too many rows.

    Attributes:
        objects: `id(finding)` -> finding and row id; equal findings of a fleet are mostly one object. Only the newest of equal objects is
            referenced, so that its `id` cannot be reused.
        findings: digest -> row id.
        sets: digest -> row id.
        by_id: row id -> finding, as it was read.
    """

    objects: dict[int, tuple[Finding, int]] = field(default_factory=dict)
    findings: dict[str, int] = field(default_factory=dict)
    sets: dict[str, int] = field(default_factory=dict)
    by_id: dict[int, Finding] = field(default_factory=dict)

    def merge(self, new: RowIds) -> None:
        """Add the ids of a committed transaction; the older ones are dropped first if there are too many. Other threads keep using the old dicts."""
        if len(self.findings) + len(self.sets) > _CACHE_LIMIT:
            self.objects, self.findings, self.sets = {}, {}, {}
        if new.objects:
            newest = {row_id: key for key, (_, row_id) in (*self.objects.items(), *new.objects.items())}
            both = self.objects | new.objects
            self.objects = {key: both[key] for key in newest.values()}
        self.findings |= new.findings
        self.sets |= new.sets


def save_sets(connection: Connection, known: RowIds, findings_of_nodes: Sequence[Sequence[Finding]]) -> tuple[list[int | None], RowIds]:
    """Save the findings of each node as a set.

    Returns:
        The id of each set, None for an empty one; and the ids to merge into `known` when the transaction is committed.
    """
    new, objects = RowIds(), known.objects
    distinct = {id(findings): findings for findings in findings_of_nodes}  # equal nodes of a batch share one tuple
    unknown = {id(f): f for findings in distinct.values() for f in findings if id(f) not in objects}
    rows = {key: _values(f) for key, f in unknown.items()}
    new.findings = _row_ids(connection, t.finding_values, known.findings, {row["digest"]: row for row in rows.values()})
    new.objects = {key: (f, new.findings[rows[key]["digest"]]) for key, f in unknown.items()}
    if new.objects:
        objects = objects | new.objects
    members = {key: pack_ids(objects[id(f)][1] for f in findings) for key, findings in distinct.items()}
    digests = {key: hashlib.sha256(json.dumps(m).encode()).hexdigest() for key, m in members.items()}
    sets = {digests[key]: {"digest": digests[key], "members": m} for key, m in members.items() if m}
    new.sets = _row_ids(connection, t.finding_sets, known.sets, sets)
    set_ids = {key: new.sets[digests[key]] if m else None for key, m in members.items()}
    return [set_ids[id(findings)] for findings in findings_of_nodes], new


def _row_ids(connection: Connection, table: Table, known: Mapping[str, int], rows: Mapping[str, dict[str, Any]]) -> dict[str, int]:
    """The ids of these rows, by digest; missing rows are inserted in the given order."""
    ids = {d: known[d] for d in rows if d in known}
    ids |= _stored_ids(connection, table, rows.keys() - ids.keys())
    if len(ids) < len(rows):
        if connection.dialect.name == "postgresql":  # on SQLite the transaction already has the write lock
            connection.execute(text(f"LOCK TABLE {table.name} IN SHARE ROW EXCLUSIVE MODE"))
            ids |= _stored_ids(connection, table, rows.keys() - ids.keys())
        missing = [row for d, row in rows.items() if d not in ids]
        if missing:
            connection.execute(insert(table), missing)
            ids |= _stored_ids(connection, table, (row["digest"] for row in missing))
    return ids


def _stored_ids(connection: Connection, table: Table, digests: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for part in slices(digests):
        found |= {r.digest: r.id for r in connection.execute(select(table.c.digest, table.c.id).where(table.c.digest.in_(part)))}
    return found


def read_set(connection: Connection, known: RowIds, set_id: int | None) -> tuple[Finding, ...]:
    """The findings of a set, in order. Equal findings of different sets are one object."""
    if set_id is None:
        return ()
    id_ranges = read_ranges(connection, [set_id])[set_id]
    rows = known.by_id
    if any(row_id not in rows for row_id in unpack_ids(id_ranges)):
        queries = (select(t.finding_values).where(within) for within in range_conditions(id_ranges))
        found = {row.id: _finding(row) for query in queries for row in connection.execute(query)}
        known.by_id = rows = found | (rows if len(rows) < _CACHE_LIMIT else {})
    return tuple(rows[row_id] for row_id in unpack_ids(id_ranges))


def read_ranges(connection: Connection, set_ids: Iterable[int]) -> dict[int, IdRanges]:
    """The finding ids of each set, as ranges."""
    found: dict[int, IdRanges] = {}
    for part in slices(map(str, set_ids)):
        rows = connection.execute(select(t.finding_sets.c.id, t.finding_sets.c.members).where(t.finding_sets.c.id.in_(map(int, part))))
        found |= {r.id: r.members for r in rows}
    return found


def range_conditions(id_ranges: IdRanges) -> Iterator[ColumnElement[bool]]:
    """Conditions that together select the findings in these ranges."""
    for i in range(0, len(id_ranges), _RANGES_PER_QUERY):
        yield or_(*(t.finding_values.c.id.between(first, last) for first, last in id_ranges[i : i + _RANGES_PER_QUERY]))


def pack_ids(ids: Iterable[int]) -> IdRanges:
    """Ids as ranges, in the same order."""
    id_ranges: IdRanges = []
    last = None
    for row_id in ids:
        if last is not None and row_id == last + 1:
            id_ranges[-1][1] = row_id
        else:
            id_ranges.append([row_id, row_id])
        last = row_id
    return id_ranges


def unpack_ids(id_ranges: IdRanges) -> Iterator[int]:
    """The reverse of `pack_ids`."""
    return (row_id for first, last in id_ranges for row_id in range(first, last + 1))


def _values(finding: Finding) -> dict[str, Any]:
    values = {
        "check": storable_text(finding.check),
        "role": storable_text(finding.role),
        "outcome": finding.outcome.value,
        "severity": finding.severity.value,
        "expected": storable_text(finding.expected),
        "found": storable_text(finding.found),
        "hint": storable_text(finding.hint),
        "reason": storable_text(finding.reason),
    }
    described: list[Any] = (
        [*values.values(), finding.observed] if finding.observed else list(values.values())
    )  # rows from before 0011 keep their digests
    described += [{"above": finding.above}] if finding.above else []
    described += [{"owner": finding.owner}] if finding.owner else []
    return {
        "digest": hashlib.sha256(json.dumps(described).encode()).hexdigest(),
        **values,
        "observed": finding.observed,
        "above": finding.above,
        "owner": finding.owner,
    }


def _finding(row: Row[Any]) -> Finding:
    return Finding(
        row.check,
        row.role,
        Outcome(row.outcome),
        Severity(row.severity),
        row.expected,
        row.found,
        row.hint,
        row.reason,
        row.observed,
        row.above,
        row.owner,
    )
