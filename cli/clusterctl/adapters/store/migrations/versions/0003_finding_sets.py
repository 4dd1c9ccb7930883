"""Stores each finding once for all nodes and runs."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_COLUMNS = ("check", "role", "outcome", "severity", "expected", "found", "hint", "reason")
_BATCH_SIZE = 50
_CACHE_LIMIT = 50_000

_validations = sa.table("validations", sa.column("id", sa.Integer), sa.column("finding_set_id", sa.Integer))
_old = sa.table("findings", sa.column("validation_id", sa.Integer), sa.column("position", sa.Integer), *map(sa.column, _COLUMNS))
_values = sa.table("finding_values", sa.column("id", sa.Integer), sa.column("digest"), *map(sa.column, _COLUMNS))
_sets = sa.table("finding_sets", sa.column("id", sa.Integer), sa.column("digest"), sa.column("members", sa.JSON))


def upgrade() -> None:
    op.create_table(
        "finding_values",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("check", sa.Text(), nullable=False),
        sa.Column("role", sa.String(length=64), nullable=False),
        sa.Column("outcome", sa.String(length=64), nullable=False),
        sa.Column("severity", sa.String(length=64), nullable=False),
        sa.Column("expected", sa.Text(), nullable=False),
        sa.Column("found", sa.Text(), nullable=False),
        sa.Column("hint", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_finding_values")),
        sa.UniqueConstraint("digest", name=op.f("uq_finding_values_digest")),
    )
    op.create_table(
        "finding_sets",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("members", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_finding_sets")),
        sa.UniqueConstraint("digest", name=op.f("uq_finding_sets_digest")),
    )
    # Not with Alembic, which recreates the table on SQLite: dropping the old table would cascade to the findings.
    name = op.f("fk_validations_finding_set_id_finding_sets")
    op.execute(f"ALTER TABLE validations ADD COLUMN finding_set_id INTEGER CONSTRAINT {name} REFERENCES finding_sets (id)")
    _convert(op.get_bind())
    op.drop_table("findings")


def _convert(connection: sa.Connection) -> None:
    numbers: dict[tuple[str, ...], int] = {}
    last = 0
    while ids := list(
        connection.execute(
            sa.select(_validations.c.id).where(_validations.c.id > last).order_by(_validations.c.id).limit(_BATCH_SIZE)
        ).scalars()
    ):
        last = ids[-1]
        query = sa.select(_old).where(_old.c.validation_id.in_(ids)).order_by(_old.c.validation_id, _old.c.position)
        findings: dict[int, list[tuple[str, ...]]] = {}
        for row in connection.execute(query):
            findings.setdefault(row[0], []).append(tuple(row[2:]))
        if len(numbers) > _CACHE_LIMIT:
            numbers = {}
        unknown = {s: _digest(list(s)) for one in findings.values() for s in one if s not in numbers}
        stored = _numbered(connection, _values, {d: dict(zip(_COLUMNS, s, strict=True)) for s, d in unknown.items()})
        numbers |= {s: stored[d] for s, d in unknown.items()}
        sets = {number: _runs([numbers[s] for s in one]) for number, one in findings.items()}
        digests = {number: _digest(runs) for number, runs in sets.items()}
        stored = _numbered(connection, _sets, {digests[number]: {"members": runs} for number, runs in sets.items()})
        for number, digest in digests.items():
            change = sa.update(_validations).where(_validations.c.id == number).values(finding_set_id=stored[digest])
            connection.execute(change)


def _numbered(connection: sa.Connection, table: sa.TableClause, rows: dict[str, dict[str, Any]]) -> dict[str, int]:
    numbers = _stored(connection, table, list(rows))
    absent = {d: row for d, row in rows.items() if d not in numbers}
    if absent:
        connection.execute(sa.insert(table), [{"digest": d, **row} for d, row in absent.items()])
        numbers |= _stored(connection, table, list(absent))
    return numbers


def _stored(connection: sa.Connection, table: sa.TableClause, digests: list[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for i in range(0, len(digests), 10_000):
        query = sa.select(table.c.digest, table.c.id).where(table.c.digest.in_(digests[i : i + 10_000]))
        found |= {r.digest: r.id for r in connection.execute(query)}
    return found


def _digest(data: list[Any]) -> str:
    return hashlib.sha256(json.dumps(data).encode()).hexdigest()


def _runs(numbers: list[int]) -> list[list[int]]:
    runs: list[list[int]] = []
    for i, number in enumerate(numbers):
        if i and number == numbers[i - 1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return runs
