"""Who owns the part of a node that a finding is about, where that is not clusterctl."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    op.add_column("finding_values", sa.Column("owner", sa.Text, nullable=False, server_default=""))
