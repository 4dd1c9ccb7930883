"""Deviations that drift runs find, with first and last seen."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "drift",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("node", sa.String(length=255), nullable=False),
        sa.Column("check", sa.Text(), nullable=False),
        sa.Column("role", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=64), nullable=False),
        sa.Column("severity", sa.String(length=64), nullable=False),
        sa.Column("expected", sa.Text(), nullable=False),
        sa.Column("found", sa.Text(), nullable=False),
        sa.Column("first_seen", sa.String(length=32), nullable=False),
        sa.Column("last_seen", sa.String(length=32), nullable=False),
        sa.Column("ended_at", sa.String(length=32), nullable=False),
        sa.Column("seen", sa.Integer(), nullable=False),
        sa.Column("last_run", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(["node"], ["nodes.name"], name=op.f("fk_drift_node_nodes")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_drift")),
    )
    op.create_index("ix_drift_node_ended_at", "drift", ["node", "ended_at"], unique=False)
