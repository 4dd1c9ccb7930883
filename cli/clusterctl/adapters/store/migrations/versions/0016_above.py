"""The check that names the cause of a finding, where it is above the node."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.add_column("finding_values", sa.Column("above", sa.Text, nullable=False, server_default=""))
