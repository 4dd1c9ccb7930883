"""The first schema."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "leases",
        sa.Column("node", sa.String(length=255), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("holder", sa.String(length=255), nullable=False),
        sa.Column("host", sa.String(length=255), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("mark", sa.String(length=255), nullable=False),
        sa.Column("acquired_at", sa.String(length=32), nullable=False),
        sa.Column("expires_at", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("node", name=op.f("pk_leases")),
    )
    op.create_index(op.f("ix_leases_run_id"), "leases", ["run_id"], unique=False)
    op.create_table(
        "nodes",
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("rack", sa.String(length=255), nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("groups", sa.JSON(), nullable=False),
        sa.Column("profile", sa.String(length=255), nullable=False),
        sa.Column("state", sa.String(length=64), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("spec_digest", sa.String(length=64), nullable=False),
        sa.Column("declared_digest", sa.String(length=64), nullable=False),
        sa.Column("last_run", sa.String(length=64), nullable=False),
        sa.Column("since", sa.String(length=32), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_nodes")),
    )
    op.create_table(
        "runs",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("verb", sa.String(length=64), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("operator", sa.String(length=255), nullable=False),
        sa.Column("started_at", sa.String(length=32), nullable=False),
        sa.Column("argv", sa.JSON(), nullable=False),
        sa.Column("versions", sa.JSON(), nullable=False),
        sa.Column("directory", sa.Text(), nullable=False),
        sa.Column("status", sa.String(length=64), nullable=False),
        sa.Column("finished_at", sa.String(length=32), nullable=False),
        sa.Column("exit_code", sa.Integer(), nullable=True),
        sa.Column("summary", sa.JSON(), nullable=False),
        sa.Column("host", sa.String(length=255), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("mark", sa.String(length=255), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
    )
    op.create_index(op.f("ix_runs_started_at"), "runs", ["started_at"], unique=False)
    op.create_index(op.f("ix_runs_status"), "runs", ["status"], unique=False)
    op.create_table(
        "admissions",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("node", sa.String(length=255), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("spec_digest", sa.String(length=64), nullable=False),
        sa.Column("operator", sa.String(length=255), nullable=False),
        sa.Column("at", sa.String(length=32), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("signature", sa.Text(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["node"], ["nodes.name"], name=op.f("fk_admissions_node_nodes")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_admissions")),
    )
    op.create_index("ix_admissions_node_id", "admissions", ["node", "id"], unique=False)
    op.create_table(
        "gate_results",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("node", sa.String(length=255), nullable=False),
        sa.Column("batch", sa.Integer(), nullable=False),
        sa.Column("gate", sa.String(length=64), nullable=False),
        sa.Column("outcome", sa.String(length=64), nullable=False),
        sa.Column("rule", sa.String(length=64), nullable=False),
        sa.Column("metric", sa.Text(), nullable=False),
        sa.Column("expected", sa.Text(), nullable=False),
        sa.Column("found", sa.Text(), nullable=False),
        sa.Column("device", sa.Text(), nullable=False),
        sa.Column("peers", sa.JSON(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("hint", sa.Text(), nullable=False),
        sa.Column("simulated", sa.Boolean(), nullable=False),
        sa.Column("spec_digest", sa.String(length=64), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["node"], ["nodes.name"], name=op.f("fk_gate_results_node_nodes")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_gate_results_run_id_runs")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_gate_results")),
    )
    op.create_index("ix_gate_results_node_id", "gate_results", ["node", "id"], unique=False)
    op.create_table(
        "pool_members",
        sa.Column("node", sa.String(length=255), nullable=False),
        sa.Column("member", sa.Boolean(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("changed_at", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(["node"], ["nodes.name"], name=op.f("fk_pool_members_node_nodes")),
        sa.PrimaryKeyConstraint("node", name=op.f("pk_pool_members")),
    )
    op.create_table(
        "run_nodes",
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("node", sa.String(length=255), nullable=False),
        sa.Column("phase", sa.String(length=64), nullable=False),
        sa.Column("outcome", sa.String(length=64), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["node"], ["nodes.name"], name=op.f("fk_run_nodes_node_nodes")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_run_nodes_run_id_runs")),
        sa.PrimaryKeyConstraint("run_id", "node", name=op.f("pk_run_nodes")),
    )
    op.create_index("ix_run_nodes_node", "run_nodes", ["node"], unique=False)
    op.create_table(
        "transitions",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("node", sa.String(length=255), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("operator", sa.String(length=255), nullable=False),
        sa.Column("from_state", sa.String(length=64), nullable=False),
        sa.Column("to_state", sa.String(length=64), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("spec_digest", sa.String(length=64), nullable=False),
        sa.Column("at", sa.String(length=32), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["node"], ["nodes.name"], name=op.f("fk_transitions_node_nodes")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_transitions")),
    )
    op.create_index("ix_transitions_node_id", "transitions", ["node", "id"], unique=False)
    op.create_table(
        "validations",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("node", sa.String(length=255), nullable=False),
        sa.Column("status", sa.String(length=64), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("duration_s", sa.Float(), nullable=False),
        sa.Column("at", sa.String(length=32), nullable=False),
        sa.Column("spec_digest", sa.String(length=64), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["node"], ["nodes.name"], name=op.f("fk_validations_node_nodes")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_validations_run_id_runs")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_validations")),
    )
    op.create_index("ix_validations_node_id", "validations", ["node", "id"], unique=False)
    op.create_table(
        "findings",
        sa.Column("validation_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("check", sa.Text(), nullable=False),
        sa.Column("role", sa.String(length=64), nullable=False),
        sa.Column("outcome", sa.String(length=64), nullable=False),
        sa.Column("severity", sa.String(length=64), nullable=False),
        sa.Column("expected", sa.Text(), nullable=False),
        sa.Column("found", sa.Text(), nullable=False),
        sa.Column("hint", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["validation_id"], ["validations.id"], name=op.f("fk_findings_validation_id_validations"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("validation_id", "position", name=op.f("pk_findings")),
    )
