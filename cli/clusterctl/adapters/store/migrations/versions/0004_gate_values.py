"""Adds reason code, value, limit and unit to gate results; the limit of older results is parsed from their text."""

from __future__ import annotations

import re

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

# The form of limits before this migration: `>= 360 Gb/s`, `<= 900 GB/s`.
_LIMIT = re.compile(r"[<>]= ([0-9.]+) (\S+)")
_BATCH_SIZE = 500

_results = sa.table(
    "gate_results", sa.column("id", sa.Integer), sa.column("expected", sa.Text), sa.column("limit", sa.Float), sa.column("unit", sa.Text)
)


def upgrade() -> None:
    op.add_column("gate_results", sa.Column("reason", sa.String(length=64), nullable=True))
    op.add_column("gate_results", sa.Column("value", sa.Float(), nullable=True))
    op.add_column("gate_results", sa.Column("limit", sa.Float(), nullable=True))
    op.add_column("gate_results", sa.Column("unit", sa.String(length=64), nullable=True))
    _fill(op.get_bind())


def _fill(connection: sa.Connection) -> None:
    last = 0
    query = sa.select(_results.c.id, _results.c.expected).where(_results.c.expected != "").order_by(_results.c.id).limit(_BATCH_SIZE)
    while rows := list(connection.execute(query.where(_results.c.id > last))):
        last = rows[-1].id
        for row in rows:
            if limit := _LIMIT.fullmatch(row.expected):
                values = {"limit": float(limit[1]), "unit": limit[2]}
                connection.execute(sa.update(_results).where(_results.c.id == row.id).values(**values))
