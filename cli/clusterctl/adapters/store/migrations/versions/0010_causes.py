"""Why a run or the drift policy took a node out, as a code; the level at which a gate was measured; serials are looked up."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.add_column("transitions", sa.Column("cause", sa.String(length=64)))
    op.add_column("gate_results", sa.Column("level", sa.String(length=64), nullable=False, server_default=""))
    op.create_index(op.f("ix_parts_serial"), "parts", ["serial"])
