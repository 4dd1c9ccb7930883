"""Nodes whose pool membership is unknown."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.create_table(
        "pool_doubts",
        sa.Column("node", sa.String(length=255), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("since", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(["node"], ["nodes.name"], name=op.f("fk_pool_doubts_node_nodes")),
        sa.PrimaryKeyConstraint("node", name=op.f("pk_pool_doubts")),
    )
