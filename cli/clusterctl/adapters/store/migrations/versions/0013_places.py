"""Where a node is in the fabric, as its inventory declares it: for those who poll the record."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    for name in ("leaf", "spine", "nvlink_domain"):
        op.add_column("nodes", sa.Column(name, sa.String(length=255), nullable=False, server_default=""))
