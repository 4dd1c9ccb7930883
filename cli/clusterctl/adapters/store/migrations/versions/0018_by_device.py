"""What each device of a node read, beside the worst of them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    op.add_column("gate_results", sa.Column("by_device", sa.JSON()))
