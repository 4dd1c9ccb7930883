"""The boot in which a node was validated."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    op.add_column("validations", sa.Column("boot_id", sa.String(length=64), nullable=False, server_default=""))
    op.add_column("validations", sa.Column("booted_at", sa.String(length=32), nullable=False, server_default=""))
