"""Findings and gate results that do not decide, with the outcome that they had."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.add_column("finding_values", sa.Column("observed", sa.String(length=64), nullable=False, server_default=""))
    op.add_column("gate_results", sa.Column("observed", sa.String(length=64)))
