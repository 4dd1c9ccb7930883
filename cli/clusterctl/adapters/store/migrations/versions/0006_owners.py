"""Owners of drained and quarantined nodes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_nodes = sa.table("nodes", sa.column("name", sa.String), sa.column("state", sa.String), sa.column("owner", sa.String))
_steps = sa.table(
    "transitions",
    sa.column("id", sa.Integer),
    sa.column("node", sa.String),
    sa.column("run_id", sa.String),
    sa.column("operator", sa.String),
)
_OWNABLE = ("quarantined", "drained", "rma", "retired")


def upgrade() -> None:
    op.add_column("nodes", sa.Column("owner", sa.String(length=255), nullable=False, server_default=""))
    _fill(op.get_bind())


def _fill(connection: sa.Connection) -> None:
    """Whoever took a node out without a run owns it: kept out in doubt."""
    newest = sa.select(sa.func.max(_steps.c.id)).group_by(_steps.c.node)
    steps = sa.select(_steps.c.node, _steps.c.operator).where(_steps.c.id.in_(newest), _steps.c.run_id == "")
    for row in list(connection.execute(steps)):
        taken_out = (_nodes.c.name == row.node) & _nodes.c.state.in_(_OWNABLE)
        connection.execute(sa.update(_nodes).where(taken_out).values(owner=row.operator))
