"""The tables, in SQLAlchemy Core. Records are frozen dataclasses (`records.py`); an ORM would only increase the start-up time.

Times are text (`clusterctl.adapters.clock`). `epoch` and `spec_digest` on evidence are the node's epoch and declared digest when it was saved.
`batch` counts the calls that saved gate results; `follows_batch` of a validation is the newest batch of its node when it was saved, 0 without one.
The members of a finding set are ids of `finding_values` in order, as ranges (`finding_sets.py`).
The first change of a notice has the id of the notice; its nodes are names, without foreign keys.
A lease has no foreign keys, because it can be acquired before its node is registered; `shard_id` is set where a worker of the queue acquired it.
"""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Boolean, Column, Float, ForeignKey, Index, Integer, MetaData, String, Table, Text

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

NAME = String(255)
TIMESTAMP = String(32)
SHORT_TEXT = String(64)


def _node(*, primary_key: bool = False) -> Column[str]:
    return Column("node", NAME, ForeignKey("nodes.name"), primary_key=primary_key, nullable=False)


def _repair() -> tuple[Column[str], ...]:
    return tuple(Column(name, Text, nullable=False, server_default="") for name in ("component", "component_name", "next_action"))


def _run(*, primary_key: bool = False) -> Column[str]:
    return Column("run_id", SHORT_TEXT, ForeignKey("runs.id"), primary_key=primary_key, nullable=False)


nodes = Table(
    "nodes",
    metadata,
    Column("name", NAME, primary_key=True),
    Column("rack", NAME, nullable=False),
    Column("slot", Integer, nullable=False),
    Column("groups", JSON, nullable=False),
    Column("profile", NAME, nullable=False),
    Column("state", SHORT_TEXT, nullable=False),
    Column("reason", Text, nullable=False),
    Column("spec_digest", SHORT_TEXT, nullable=False),
    Column("declared_digest", SHORT_TEXT, nullable=False),
    Column("last_run", SHORT_TEXT, nullable=False),
    Column("since", TIMESTAMP, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("owner", NAME, nullable=False),
    Column("leaf", NAME, nullable=False, server_default=""),
    Column("spine", NAME, nullable=False, server_default=""),
    Column("nvlink_domain", NAME, nullable=False, server_default=""),
    Column("reason_code", Text, nullable=False, server_default=""),
    *_repair(),
)

transitions = Table(
    "transitions",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    _node(),
    Column("run_id", SHORT_TEXT, nullable=False),
    Column("operator", NAME, nullable=False),
    Column("from_state", SHORT_TEXT, nullable=False),
    Column("to_state", SHORT_TEXT, nullable=False),
    Column("reason", Text, nullable=False),
    Column("spec_digest", SHORT_TEXT, nullable=False),
    Column("at", TIMESTAMP, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("cause", SHORT_TEXT),
    Column("reason_code", Text, nullable=False, server_default=""),
    *_repair(),
    Index("ix_transitions_node_id", "node", "id"),
)

runs = Table(
    "runs",
    metadata,
    Column("id", SHORT_TEXT, primary_key=True),
    Column("verb", SHORT_TEXT, nullable=False),
    Column("target", Text, nullable=False),
    Column("operator", NAME, nullable=False),
    Column("started_at", TIMESTAMP, nullable=False, index=True),
    Column("argv", JSON, nullable=False),
    Column("versions", JSON, nullable=False),
    Column("directory", Text, nullable=False),
    Column("status", SHORT_TEXT, nullable=False, index=True),
    Column("finished_at", TIMESTAMP, nullable=False),
    Column("exit_code", Integer),
    Column("summary", JSON, nullable=False),
    Column("host", NAME, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("mark", NAME, nullable=False),
)

run_nodes = Table(
    "run_nodes",
    metadata,
    _run(primary_key=True),
    _node(primary_key=True),
    Column("phase", SHORT_TEXT, nullable=False),
    Column("outcome", SHORT_TEXT, nullable=False),
    Column("detail", Text, nullable=False),
    Index("ix_run_nodes_node", "node"),
)

finding_values = Table(
    "finding_values",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("digest", SHORT_TEXT, nullable=False, unique=True),
    Column("check", Text, nullable=False),
    Column("role", SHORT_TEXT, nullable=False),
    Column("outcome", SHORT_TEXT, nullable=False),
    Column("severity", SHORT_TEXT, nullable=False),
    Column("expected", Text, nullable=False),
    Column("found", Text, nullable=False),
    Column("hint", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("observed", SHORT_TEXT, nullable=False, server_default=""),
    Column("above", Text, nullable=False, server_default=""),
    Column("owner", Text, nullable=False, server_default=""),
)

finding_sets = Table(
    "finding_sets",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("digest", SHORT_TEXT, nullable=False, unique=True),
    Column("members", JSON, nullable=False),
)

validations = Table(
    "validations",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    _run(),
    _node(),
    Column("status", SHORT_TEXT, nullable=False),
    Column("detail", Text, nullable=False),
    Column("duration_s", Float, nullable=False),
    Column("at", TIMESTAMP, nullable=False),
    Column("spec_digest", SHORT_TEXT, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("finding_set_id", Integer, ForeignKey("finding_sets.id")),
    Column("follows_batch", Integer, nullable=False, server_default="-1"),
    Column("boot_id", SHORT_TEXT, nullable=False, server_default=""),
    Column("booted_at", TIMESTAMP, nullable=False, server_default=""),
    Index("ix_validations_node_id", "node", "id"),
)

gate_results = Table(
    "gate_results",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    _run(),
    _node(),
    Column("batch", Integer, nullable=False),
    Column("gate", SHORT_TEXT, nullable=False),
    Column("outcome", SHORT_TEXT, nullable=False),
    Column("rule", SHORT_TEXT, nullable=False),
    Column("metric", Text, nullable=False),
    Column("expected", Text, nullable=False),
    Column("found", Text, nullable=False),
    Column("device", Text, nullable=False),
    Column("peers", JSON, nullable=False),
    Column("source", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column("hint", Text, nullable=False),
    Column("simulated", Boolean, nullable=False),
    Column("reason", SHORT_TEXT),
    Column("value", Float),
    Column("limit", Float),
    Column("unit", SHORT_TEXT),
    Column("boot_id", SHORT_TEXT, nullable=False, server_default=""),
    Column("level", SHORT_TEXT, nullable=False, server_default=""),
    Column("observed", SHORT_TEXT),
    Column("op", Text, nullable=False, server_default=""),
    Column("size_bytes", BigInteger),
    Column("tool_version", Text, nullable=False, server_default=""),
    Column("best", Float),
    Column("by_device", JSON),
    Column("error_code", Text, nullable=False, server_default=""),
    *_repair(),
    Column("spec_digest", SHORT_TEXT, nullable=False),
    Column("epoch", Integer, nullable=False),
    Index("ix_gate_results_node_id", "node", "id"),
)

admissions = Table(
    "admissions",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    _node(),
    Column("run_id", SHORT_TEXT, nullable=False),
    Column("spec_digest", SHORT_TEXT, nullable=False),
    Column("operator", NAME, nullable=False),
    Column("at", TIMESTAMP, nullable=False),
    Column("document", Text, nullable=False),
    Column("digest", SHORT_TEXT, nullable=False),
    Column("signature", Text, nullable=False),
    Column("epoch", Integer, nullable=False),
    Index("ix_admissions_node_id", "node", "id"),
)

leases = Table(
    "leases",
    metadata,
    Column("node", NAME, primary_key=True),
    Column("run_id", SHORT_TEXT, nullable=False, index=True),
    Column("holder", NAME, nullable=False),
    Column("host", NAME, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("mark", NAME, nullable=False),
    Column("acquired_at", TIMESTAMP, nullable=False),
    Column("expires_at", TIMESTAMP, nullable=False),
    Column("shard_id", Integer, index=True),
)

shards = Table(
    "shards",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("order_id", SHORT_TEXT, nullable=False, index=True),
    Column("site", NAME, nullable=False),
    Column("rack", NAME, nullable=False),
    Column("nodes", JSON, nullable=False),
    Column("content", SHORT_TEXT, nullable=False),
    Column("operator", NAME, nullable=False),
    Column("options", JSON, nullable=False),
    Column("kind", SHORT_TEXT, nullable=False),
    Column("state", SHORT_TEXT, nullable=False, index=True),
    Column("token", Integer, nullable=False),
    Column("failures", Integer, nullable=False),
    Column("worker", NAME, nullable=False),
    Column("run_id", SHORT_TEXT, nullable=False),
    Column("exit_code", Integer),
    Column("detail", Text, nullable=False),
    Column("queued_at", TIMESTAMP, nullable=False),
    Column("started_at", TIMESTAMP, nullable=False),
    Column("ended_at", TIMESTAMP, nullable=False),
)

workers = Table(
    "workers",
    metadata,
    Column("name", NAME, primary_key=True),
    Column("site", NAME, nullable=False),
    Column("content", SHORT_TEXT, nullable=False),
    Column("jobs", Integer, nullable=False),
    Column("started_at", TIMESTAMP, nullable=False),
    Column("seen_at", TIMESTAMP, nullable=False),
)

pool_members = Table(
    "pool_members",
    metadata,
    _node(primary_key=True),
    Column("member", Boolean, nullable=False),
    Column("reason", Text, nullable=False),
    Column("changed_at", TIMESTAMP, nullable=False),
)

pool_doubts = Table(
    "pool_doubts",
    metadata,
    _node(primary_key=True),
    Column("why", Text, nullable=False),
    Column("since", TIMESTAMP, nullable=False),
)

breaker_events = Table(
    "breaker_events",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("at", TIMESTAMP, nullable=False),
    Column("kind", SHORT_TEXT, nullable=False),
    Column("operator", NAME, nullable=False),
    Column("reason", Text, nullable=False),
)

notices = Table(
    "notices",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("notice", Integer, nullable=False, index=True),
    Column("kind", SHORT_TEXT, nullable=False),
    Column("at", TIMESTAMP, nullable=False, index=True),
    Column("target", Text, nullable=False),
    Column("nodes", JSON, nullable=False),
    Column("begins_at", TIMESTAMP, nullable=False),
    Column("ends_at", TIMESTAMP, nullable=False),
    Column("reason", Text, nullable=False),
    Column("operator", NAME, nullable=False),
)

drift = Table(
    "drift",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    _node(),
    Column("check", Text, nullable=False),
    Column("role", SHORT_TEXT, nullable=False),
    Column("kind", SHORT_TEXT, nullable=False),
    Column("severity", SHORT_TEXT, nullable=False),
    Column("expected", Text, nullable=False),
    Column("found", Text, nullable=False),
    Column("first_seen", TIMESTAMP, nullable=False),
    Column("last_seen", TIMESTAMP, nullable=False),
    Column("ended_at", TIMESTAMP, nullable=False),
    Column("seen", Integer, nullable=False),
    Column("last_run", SHORT_TEXT, nullable=False),
    Index("ix_drift_node_ended_at", "node", "ended_at"),
)

parts = Table(
    "parts",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    _node(),
    Column("kind", SHORT_TEXT, nullable=False),
    Column("slot", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("serial", Text, nullable=False),
    Column("first_run", SHORT_TEXT, nullable=False),
    Column("first_seen", TIMESTAMP, nullable=False),
    Column("last_seen", TIMESTAMP, nullable=False),
    Column("ended_run", SHORT_TEXT, nullable=False),
    Index("ix_parts_node_ended_run", "node", "ended_run"),
    Index("ix_parts_serial", "serial"),
)
