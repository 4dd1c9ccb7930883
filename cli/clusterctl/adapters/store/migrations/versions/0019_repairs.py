"""The vendor's code of an error beside a gate's result, which part it is about and what to do first; the same of what took a node out."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    op.add_column("gate_results", sa.Column("error_code", sa.Text, nullable=False, server_default=""))
    for table in ("gate_results", "nodes", "transitions"):
        for column in ("component", "next_action"):
            op.add_column(table, sa.Column(column, sa.Text, nullable=False, server_default=""))
