"""Evidence: what validators found and how gates were judged. Nothing is overwritten; reading gives the newest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import exists, func, insert, select

from clusterctl.findings import NodeFindings, NodeStatus
from clusterctl.gates.model import GateResult, Outcome
from clusterctl.store import tables as t
from clusterctl.store.base import Repository, clean
from clusterctl.store.engine import reading, writing
from clusterctl_validators.finding import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import ColumnElement, Connection, Row, Select, Table

_FINDING_TEXT = ("check", "role", "expected", "found", "hint", "reason")
_GATE_TEXT = ("gate", "rule", "metric", "expected", "found", "device", "source", "detail", "hint")


class EvidenceRepository(Repository):
    """Findings and gate results."""

    def save_findings(self, run_id: str, *findings: NodeFindings) -> None:
        """Record one validation each of registered nodes, all or none; a run may validate a node more than once."""
        with writing(self._engine) as connection:
            for one in findings:
                head = {
                    "run_id": run_id,
                    "node": one.node,
                    "status": one.status.value,
                    "detail": clean(one.detail),
                    "duration_s": one.duration_s,
                    "at": self._clock(),
                    **_context(connection, one.node),
                }
                key = connection.execute(insert(t.validations).values(**head)).inserted_primary_key
                number = key[0] if key else 0
                rows = [_finding_values(f, number, i) for i, f in enumerate(one.findings)]
                if rows:
                    connection.execute(insert(t.findings), rows)

    def findings(self, node: str, run_id: str | None = None, *, current: bool = False) -> NodeFindings | None:
        """The newest validation of a node (of that run), or None if there is none.

        `current`: only one gathered since the node was last touched, under the spec that is declared now.
        """
        query = select(t.validations).where(t.validations.c.node == node).order_by(t.validations.c.id.desc()).limit(1)
        if run_id is not None:
            query = query.where(t.validations.c.run_id == run_id)
        if current:
            query = query.where(_is_current(t.validations))
        with reading(self._engine) as connection:
            head = connection.execute(query).first()
            if head is None:
                return None
            rows = connection.execute(select(t.findings).where(t.findings.c.validation_id == head.id).order_by(t.findings.c.position))
            found = tuple(_finding(r) for r in rows)
        return NodeFindings(node, NodeStatus(head.status), head.detail, found, head.duration_s)

    def validations(self, node: str) -> tuple[tuple[str, str], ...]:
        """(run id, when) of every validation of a node, oldest first."""
        query = select(t.validations.c.run_id, t.validations.c.at).where(t.validations.c.node == node).order_by(t.validations.c.id)
        with reading(self._engine) as connection:
            return tuple((r.run_id, r.at) for r in connection.execute(query))

    def save_gate_results(self, run_id: str, results: Iterable[GateResult]) -> None:
        """Record verdicts on registered nodes. A gate saved again (judged or measured again) replaces what reading gives for its nodes."""
        rows = tuple(results)
        if not rows:
            return
        with writing(self._engine) as connection:
            contexts = {name: _context(connection, name) for name in sorted({r.node for r in rows})}
            batch = (connection.execute(select(func.max(t.gate_results.c.batch))).scalar() or 0) + 1
            values = [_gate_values(r) | {"run_id": run_id, "batch": batch} | contexts[r.node] for r in rows]
            connection.execute(insert(t.gate_results), values)

    def gate_results(self, node: str, run_id: str | None = None, *, current: bool = False) -> tuple[GateResult, ...]:
        """The newest verdicts of every gate on a node: of a run, or of all current evidence, or of the last run that judged the node."""
        query = select(t.gate_results).where(t.gate_results.c.node == node)
        with reading(self._engine) as connection:
            if run_id is None and not current:
                run_id = _last_judging_run(connection, node)
            if run_id is not None:
                query = query.where(t.gate_results.c.run_id == run_id)
            if current:
                query = query.where(_is_current(t.gate_results))
            return _newest_per_gate(connection, query)

    def evidence_runs(self, node: str) -> tuple[str, ...]:
        """The runs that gathered a node's current evidence."""
        found: set[str] = set()
        with reading(self._engine) as connection:
            for table in (t.validations, t.gate_results):
                query = select(table.c.run_id).where(table.c.node == node, _is_current(table)).distinct()
                found |= set(connection.execute(query).scalars())
        return tuple(sorted(found))


def _last_judging_run(connection: Connection, node: str) -> str | None:
    query = select(t.gate_results.c.run_id).where(t.gate_results.c.node == node).order_by(t.gate_results.c.id.desc()).limit(1)
    return connection.execute(query).scalar()


def _newest_per_gate(connection: Connection, query: Select[Any]) -> tuple[GateResult, ...]:
    rows = list(connection.execute(query.order_by(t.gate_results.c.id)))
    newest: dict[str, int] = {}
    for row in rows:
        newest[row.gate] = max(newest.get(row.gate, 0), row.batch)
    return tuple(_gate(r) for r in rows if r.batch == newest[r.gate])


def _context(connection: Connection, node: str) -> dict[str, Any]:
    """What the evidence of a node holds for; an unknown node's row is then refused by its foreign key."""
    row = connection.execute(select(t.nodes.c.epoch, t.nodes.c.declared_digest).where(t.nodes.c.name == node)).first()
    return {"epoch": row.epoch, "spec_digest": row.declared_digest} if row else {"epoch": 0, "spec_digest": ""}


def _is_current(evidence: Table) -> ColumnElement[bool]:
    same = (t.nodes.c.epoch == evidence.c.epoch) & (t.nodes.c.declared_digest == evidence.c.spec_digest)
    return exists().where(t.nodes.c.name == evidence.c.node).where(same)


def _finding_values(finding: Finding, validation_id: int, position: int) -> dict[str, Any]:
    """Written out, not looped: a fleet has millions of these."""
    return {
        "validation_id": validation_id,
        "position": position,
        "check": clean(finding.check),
        "role": clean(finding.role),
        "outcome": finding.outcome.value,
        "severity": finding.severity.value,
        "expected": clean(finding.expected),
        "found": clean(finding.found),
        "hint": clean(finding.hint),
        "reason": clean(finding.reason),
    }


def _finding(row: Row[Any]) -> Finding:
    return Finding(
        **{f: getattr(row, f) for f in _FINDING_TEXT},
        outcome=Outcome(row.outcome),
        severity=Severity(row.severity),
    )


def _gate_values(result: GateResult) -> dict[str, Any]:
    text = {f: clean(getattr(result, f)) for f in _GATE_TEXT}
    return text | {
        "node": result.node,
        "outcome": result.outcome.value,
        "peers": [clean(p) for p in result.peers],
        "simulated": result.simulated,
    }


def _gate(row: Row[Any]) -> GateResult:
    return GateResult(
        **{f: getattr(row, f) for f in _GATE_TEXT},
        node=row.node,
        outcome=Outcome(row.outcome),
        peers=tuple(row.peers),
        simulated=row.simulated,
    )
