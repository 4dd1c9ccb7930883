"""The boot in which a gate was measured, and which gate results a validation followed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.add_column("gate_results", sa.Column("boot_id", sa.String(length=64), nullable=False, server_default=""))
    # what older validations followed is unknown: they count as older than every gate
    op.add_column("validations", sa.Column("follows_batch", sa.Integer(), nullable=False, server_default="-1"))
