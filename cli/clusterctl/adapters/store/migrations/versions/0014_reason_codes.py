"""What took a node out, as the code that its scheduler shows, too."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    for table in ("nodes", "transitions"):
        op.add_column(table, sa.Column("reason_code", sa.Text, nullable=False, server_default=""))
