"""Shards of queued provisionings, their workers, and the shard that holds a lease."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    op.create_table(
        "shards",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("order_id", sa.String(64), nullable=False),
        sa.Column("site", sa.String(255), nullable=False),
        sa.Column("rack", sa.String(255), nullable=False),
        sa.Column("nodes", sa.JSON(), nullable=False),
        sa.Column("content", sa.String(64), nullable=False),
        sa.Column("operator", sa.String(255), nullable=False),
        sa.Column("options", sa.JSON(), nullable=False),
        sa.Column("kind", sa.String(64), nullable=False),
        sa.Column("state", sa.String(64), nullable=False),
        sa.Column("token", sa.Integer(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("worker", sa.String(255), nullable=False),
        sa.Column("run_id", sa.String(64), nullable=False),
        sa.Column("exit_code", sa.Integer()),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("queued_at", sa.String(32), nullable=False),
        sa.Column("started_at", sa.String(32), nullable=False),
        sa.Column("ended_at", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_shards"),
    )
    op.create_index("ix_shards_order_id", "shards", ["order_id"])
    op.create_index("ix_shards_state", "shards", ["state"])
    op.create_table(
        "workers",
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("site", sa.String(255), nullable=False),
        sa.Column("content", sa.String(64), nullable=False),
        sa.Column("jobs", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.String(32), nullable=False),
        sa.Column("seen_at", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_workers"),
    )
    op.add_column("leases", sa.Column("shard_id", sa.Integer()))
    op.create_index("ix_leases_shard_id", "leases", ["shard_id"])
