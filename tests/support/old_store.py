"""A database with schema 0002, which has one row per finding and validation."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from sqlalchemy import column as c
from sqlalchemy import func, insert, select, table

from clusterctl.adapters.store import schema
from clusterctl.adapters.store import tables as t
from clusterctl.adapters.store.engine import connect, writing
from clusterctl.model.findings import NodeStatus
from clusterctl.model.gate_result import Outcome
from clusterctl_validators.finding import SET_BY_CONTROLLER
from support.stores import a_finding, findings

if TYPE_CHECKING:
    from clusterctl.adapters.store import Store
    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.gate_result import GateResult

RUN, LATER = "20260314-020000-drift-aaaa", "20260315-020000-drift-bbbb"
NAMES = ("r12-n01", "r12-n02")
OLD_FINDINGS = tuple(a_finding(check=f"hugepages.{i}") for i in range(30))
OLD_VALIDATIONS = [
    (RUN, findings(*OLD_FINDINGS, node=NAMES[0])),
    (RUN, findings(*OLD_FINDINGS, node=NAMES[1])),
    (LATER, findings(*OLD_FINDINGS[:9], a_finding(Outcome.FAIL, check="hugepages.9"), *OLD_FINDINGS[10:], OLD_FINDINGS[3], node=NAMES[0])),
    (LATER, findings(node=NAMES[1], status=NodeStatus.UNREACHABLE, detail="no route to host")),
]


def create_old_database(address: str) -> None:
    """Create the database and write `OLD_VALIDATIONS`."""
    engine = connect(address)
    with writing(engine) as connection:
        schema.upgrade(connection, "0002")
        for name in NAMES:
            row = dict.fromkeys(("profile", "reason", "spec_digest", "declared_digest", "last_run", "since"), "")
            connection.execute(insert(t.nodes).values(name=name, rack="rack_12", slot=1, groups=[], state="registered", epoch=0, **row))
        for run in (RUN, LATER):
            row = dict.fromkeys(("target", "operator", "started_at", "directory", "finished_at", "host", "mark"), "")
            connection.execute(insert(t.runs).values(id=run, verb="drift", argv=[], versions={}, status="done", summary={}, pid=1, **row))
        for number, (run, validation) in enumerate(OLD_VALIDATIONS, 1):
            write_validation(connection, number, run, validation)
    engine.dispose()


_LATER = frozenset(
    "reason value limit unit boot_id observed op size_bytes tool_version best by_device error_code repair".split()  # noqa: SIM905 one line
)


def write_gate_result(connection: Any, run: str, result: GateResult) -> None:
    """A gate result as it was stored before it had a reason and numbers."""
    row = {k: v for k, v in asdict(result).items() if k not in _LATER}
    row |= {"outcome": result.outcome.value, "peers": json.dumps(result.peers), "run_id": run, "batch": 1, "spec_digest": "", "epoch": 0}
    connection.execute(insert(table("gate_results", *map(c, row))).values(**row))


def write_validation(connection: Any, number: int, run: str, validation: NodeFindings) -> None:
    """Write a validation and its findings, one row each."""
    head = {
        "run_id": run,
        "node": validation.node,
        "status": validation.status.value,
        "detail": validation.detail,
        "duration_s": validation.duration_s,
    }
    old = table("validations", *map(c, ("id", *head, "at", "spec_digest", "epoch")))
    connection.execute(insert(old).values(id=number, **head, at="", spec_digest="", epoch=0))
    for position, finding in enumerate(validation.findings if validation.status is NodeStatus.OK else ()):
        row = {k: v for k, v in asdict(finding).items() if k not in SET_BY_CONTROLLER} | {
            "outcome": finding.outcome.value,
            "severity": finding.severity.value,
        }
        connection.execute(
            insert(table("findings", *map(c, ("validation_id", "position", *row)))).values(validation_id=number, position=position, **row)
        )


def assert_same_findings(store: Store) -> None:
    """Check that the store returns what was written."""
    for run, validation in OLD_VALIDATIONS[:3]:
        assert store.findings(validation.node, run) == validation
    lost = store.findings(NAMES[1], LATER)
    assert lost is not None
    assert (lost.status, lost.detail, lost.findings) == (NodeStatus.UNREACHABLE, "no route to host", ())
    assert store.validations(NAMES[0]) == ((RUN, ""), (LATER, ""))


def row_counts(store: Store) -> tuple[int, ...]:
    """The numbers of rows of validations, finding sets and findings."""
    with store._engine.connect() as connection:
        tables = (t.validations, t.finding_sets, t.finding_values)
        return tuple(connection.execute(select(func.count()).select_from(table)).scalar_one() for table in tables)
