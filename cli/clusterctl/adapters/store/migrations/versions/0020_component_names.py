"""Which switch a result is about, beside its component."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    for table in ("gate_results", "nodes", "transitions"):
        op.add_column(table, sa.Column("component_name", sa.Text, nullable=False, server_default=""))
