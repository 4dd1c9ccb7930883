"""What the value of a gate result is a figure of, beside its metric: operation, message size, version of the tool, and the best of several."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.add_column("gate_results", sa.Column("op", sa.Text(), nullable=False, server_default=""))
    op.add_column("gate_results", sa.Column("size_bytes", sa.BigInteger()))
    op.add_column("gate_results", sa.Column("tool_version", sa.Text(), nullable=False, server_default=""))
    op.add_column("gate_results", sa.Column("best", sa.Float()))
