"""Evidence: findings of validators and results of gates. Rows are never overwritten; reads return the newest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import exists, func, insert, select

from clusterctl.adapters import processes
from clusterctl.adapters.store import finding_sets
from clusterctl.adapters.store import tables as t
from clusterctl.adapters.store.engine import reading, writing
from clusterctl.adapters.store.leases import lease_of
from clusterctl.adapters.store.repository import Repository, slices, storable_text
from clusterctl.core.admission.standing import Measured, counting
from clusterctl.model.boots import VerifiedBoot
from clusterctl.model.findings import NodeFindings, NodeStatus
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import DeviceValue, GateResult, Outcome
from clusterctl.model.own_history import LAST_RUNS, VALUE_RULES, PastResult
from clusterctl.model.records import Unanswered
from clusterctl.model.repair import Repair

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sqlalchemy import ColumnElement, Connection, Engine, Row, Select, Table

    from clusterctl.model.level import Level

# A run has a result for each floor of a figure.
_PAST = 4 * LAST_RUNS
# Runs that take a node out, or leave it out, for what they find. `validate` and `plan` only report it.
_ACTING = ("drift", "provision", "admit")
_GATE_TEXT = (
    "gate",
    "rule",
    "metric",
    "expected",
    "found",
    "device",
    "source",
    "detail",
    "hint",
    "boot_id",
    "op",
    "tool_version",
    "error_code",
)


class EvidenceRepository(Repository):
    """Findings and gate results."""

    def __init__(self, engine: Engine, clock: Callable[[], str]) -> None:
        super().__init__(engine, clock)
        self._row_ids = finding_sets.RowIds()

    def save_findings(self, run_id: str, *findings: NodeFindings) -> None:
        """Record validations of registered nodes in one transaction; a run may validate a node more than once."""
        if not findings:
            return
        with writing(self._engine) as connection:
            set_ids, new_ids = finding_sets.save_sets(connection, self._row_ids, [one.findings for one in findings])
            contexts = self._contexts(connection, run_id, (one.node for one in findings))
            batches = _newest_batches(connection, contexts)
            rows = [
                {
                    "run_id": run_id,
                    "node": one.node,
                    "status": one.status.value,
                    "detail": storable_text(one.detail),
                    "duration_s": one.duration_s,
                    "at": one.at or self._clock(),
                    "finding_set_id": set_id,
                    "follows_batch": batches.get(one.node, 0),
                    "boot_id": one.boot_id,
                    "booted_at": one.booted_at,
                    **contexts[one.node],
                }
                for one, set_id in zip(findings, set_ids, strict=True)
            ]
            connection.execute(insert(t.validations), rows)
        self._row_ids.merge(new_ids)

    def findings(self, node: str, run_id: str | None = None, *, current: bool = False, spec_digest: str = "") -> NodeFindings | None:
        """The newest validation of a node, of a run or under a spec if given; None if there is none.

        `current`: only evidence of the node's present epoch and declared spec.
        """
        query = select(t.validations).where(t.validations.c.node == node).order_by(t.validations.c.id.desc()).limit(1)
        if run_id is not None:
            query = query.where(t.validations.c.run_id == run_id)
        if spec_digest:
            query = query.where(t.validations.c.spec_digest == spec_digest)
        if current:
            query = query.where(self._is_current(t.validations, node))
        with reading(self._engine) as connection:
            head = connection.execute(query).first()
            if head is None:
                return None
            found = finding_sets.read_set(connection, self._row_ids, head.finding_set_id)
        return NodeFindings(node, NodeStatus(head.status), head.detail, found, head.duration_s)

    def validations(self, node: str) -> tuple[tuple[str, str], ...]:
        """(run id, time) of every validation of a node, oldest first."""
        query = select(t.validations.c.run_id, t.validations.c.at).where(t.validations.c.node == node).order_by(t.validations.c.id)
        with reading(self._engine) as connection:
            return tuple((r.run_id, r.at) for r in connection.execute(query))

    def answer_times(self, run_id: str) -> dict[str, list[tuple[str, float]]]:
        """Node -> (time, seconds it took) of each of its validations in a run, oldest first."""
        query = select(t.validations.c.node, t.validations.c.at, t.validations.c.duration_s).where(t.validations.c.run_id == run_id)
        found: dict[str, list[tuple[str, float]]] = {}
        with reading(self._engine) as connection:
            for row in connection.execute(query.order_by(t.validations.c.id)):
                found.setdefault(row.node, []).append((row.at, row.duration_s))
        return found

    def unanswered(self) -> tuple[Unanswered, ...]:
        """The nodes whose newest validation failed without findings, by name."""
        v, inner = t.validations, t.validations.alias()
        newest = select(func.max(inner.c.id)).where(inner.c.node == t.nodes.c.name).scalar_subquery()
        columns = (v.c.node, v.c.run_id, v.c.status, v.c.detail, v.c.at)
        query = select(*columns).select_from(t.nodes.join(v, v.c.id == newest)).where(v.c.status != NodeStatus.OK.value)
        with reading(self._engine) as connection:
            return tuple(Unanswered(*row) for row in connection.execute(query.order_by(v.c.node)))

    def verified_boots(self, nodes: Iterable[str]) -> dict[str, VerifiedBoot]:
        """Node -> its newest validation that is evidence and that a run made which acts on it, with the boot in which it was made; nodes without one are left out."""
        v, inner = t.validations, t.validations.alias()
        of_node = (inner.c.node == t.nodes.c.name) & (inner.c.status == NodeStatus.OK.value) & (inner.c.spec_digest != "")
        acting = (inner.c.run_id == t.runs.c.id) & t.runs.c.verb.in_(_ACTING)
        # the newest by the index of (node, id): the largest id of them all would read every validation of the node
        newest = select(inner.c.id).where(of_node, acting).order_by(inner.c.id.desc()).limit(1).scalar_subquery()
        columns = (v.c.node, v.c.at, v.c.boot_id, v.c.booted_at)
        query = select(*columns).select_from(t.nodes.join(v, v.c.id == newest))
        with reading(self._engine) as connection:
            rows = [r for part in slices(nodes) for r in connection.execute(query.where(t.nodes.c.name.in_(part)))]
        return {r.node: VerifiedBoot(*r) for r in rows}

    def save_gate_results(self, run_id: str, results: Iterable[GateResult], level: Level | None = None) -> None:
        """Record gate results of registered nodes, measured at a level. Reads return the newest results of a gate, if it was measured or judged again."""
        rows = tuple(results)
        if not rows:
            return
        with writing(self._engine) as connection:
            contexts = self._contexts(connection, run_id, (r.node for r in rows))
            batch = (connection.execute(select(func.max(t.gate_results.c.batch))).scalar() or 0) + 1
            values = [_gate_values(r) | {"run_id": run_id, "batch": batch, "level": level or ""} | contexts[r.node] for r in rows]
            connection.execute(insert(t.gate_results), values)

    def gate_results(self, node: str, run_id: str | None = None, *, current: bool = False) -> tuple[GateResult, ...]:
        """The newest results of every gate on a node: of a run, of all current evidence, or of the last run that judged the node."""
        query = select(t.gate_results).where(t.gate_results.c.node == node).order_by(t.gate_results.c.id)
        with reading(self._engine) as connection:
            if current:
                return _counting(connection, query, self._is_current(t.gate_results, node))
            if run_id is None:
                run_id = _last_judging_run(connection, node)
            if run_id is not None:
                query = query.where(t.gate_results.c.run_id == run_id)
            return counting([Measured(_gate(r), r.batch) for r in connection.execute(query)])

    def past_results(self, nodes: Iterable[str], *, bad_ones: bool = False) -> tuple[PastResult, ...]:
        """The newest results with a measured value, oldest first: enough for the last five runs of each figure of each device.

        Only good results, unless `bad_ones`; an observed one has the outcome that it had.
        """
        g = t.gate_results
        found: list[PastResult] = []
        figure = (g.c.node, g.c.gate, g.c.metric, g.c.device, g.c.op, g.c.size_bytes, g.c.tool_version)
        newest_first = func.row_number().over(partition_by=figure, order_by=g.c.id.desc()).label("number")
        outcomes = (Outcome.PASS, Outcome.WARN, *((Outcome.FAIL,) if bad_ones else ()))
        shown = func.coalesce(g.c.observed, g.c.outcome).in_([o.value for o in outcomes])
        for part in slices(nodes):
            of_nodes = select(g, newest_first).where(g.c.node.in_(part), g.c.value.is_not(None), shown, g.c.rule.in_(VALUE_RULES))
            inner = of_nodes.subquery()
            query = select(inner, t.runs.c.started_at).join(t.runs, t.runs.c.id == inner.c.run_id).where(inner.c.number <= _PAST)
            with reading(self._engine) as connection:
                found += [PastResult(_gate(row), row.run_id, row.started_at) for row in connection.execute(query.order_by(inner.c.id))]
        return tuple(found)

    def measured_levels(self, node: str) -> frozenset[str]:
        """The levels at which the newest current results of each gate of a node were measured; the empty text where it was not recorded."""
        g = t.gate_results
        newest = (
            select(g.c.gate, func.max(g.c.batch).label("batch"))
            .where(g.c.node == node, self._is_current(g, node))
            .group_by(g.c.gate)
            .subquery()
        )
        query = (
            select(g.c.level).join(newest, (newest.c.gate == g.c.gate) & (newest.c.batch == g.c.batch)).where(g.c.node == node).distinct()
        )
        with reading(self._engine) as connection:
            return frozenset(connection.execute(query).scalars())

    def validated_in(self, node: str, *, current: bool = False) -> str:
        """The run that recorded what `findings` returns; empty where there is none."""
        v = t.validations
        query = select(v.c.run_id).where(v.c.node == node).order_by(v.c.id.desc()).limit(1)
        with reading(self._engine) as connection:
            return connection.execute(query.where(self._is_current(v, node)) if current else query).scalar() or ""

    def measured_in(self, node: str, *, current: bool = False) -> tuple[str, ...]:
        """The runs that recorded what `gate_results` returns, oldest first; a failure that an older run left standing adds none."""
        g = t.gate_results
        with reading(self._engine) as connection:
            if not current:
                last = _last_judging_run(connection, node)
                return (last,) if last else ()
            of_batch = select(g.c.gate, g.c.batch, g.c.run_id).where(g.c.node == node, self._is_current(g, node)).distinct()
            newest = {r.gate: (r.batch, r.run_id) for r in connection.execute(of_batch.order_by(g.c.batch))}
        return tuple(dict.fromkeys(run for _, run in sorted(newest.values())))

    def evidence_runs(self, node: str) -> tuple[str, ...]:
        """The runs that recorded the current evidence of a node: its newest validation, and what was measured."""
        v, g = t.validations, t.gate_results
        newest = select(v.c.run_id).where(v.c.node == node, self._is_current(v, node)).order_by(v.c.id.desc()).limit(1)
        measured = select(g.c.run_id).where(g.c.node == node, self._is_current(g, node)).distinct()
        with reading(self._engine) as connection:
            return tuple(sorted({*connection.execute(newest).scalars(), *connection.execute(measured).scalars()}))

    def validated_since_measured(self, node: str) -> bool:
        """Whether the newest current validation of a node is newer than all that was measured on it."""
        v = t.validations
        query = select(v.c.follows_batch).where(v.c.node == node, self._is_current(v, node)).order_by(v.c.id.desc()).limit(1)
        with reading(self._engine) as connection:
            follows = connection.execute(query).scalar()
            return follows is not None and follows >= _newest_batches(connection, [node]).get(node, 0)

    def _contexts(self, connection: Connection, run_id: str, nodes: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Epoch and declared digest of each node, stored with its evidence; the foreign key refuses the row of an unknown node.

        Of a node that another run holds, nothing is evidence: it is stored without a digest.
        """
        names = set(nodes)
        found: dict[str, dict[str, Any]] = {name: {"epoch": 0, "spec_digest": ""} for name in names}
        held = _held_by_others(connection, run_id, names, self._clock())
        for part in slices(names):
            rows = connection.execute(select(t.nodes.c.name, t.nodes.c.epoch, t.nodes.c.declared_digest).where(t.nodes.c.name.in_(part)))
            for r in rows:
                digest = "" if r.name in held else self._declared.get(r.name, r.declared_digest)
                found[r.name] = {"epoch": r.epoch, "spec_digest": digest}
        return found

    def _is_current(self, evidence: Table, node: str) -> ColumnElement[bool]:
        """Whether a row of a node is of its present epoch, and of what this process declares it to be, or else of what is recorded."""
        digest = self._declared.get(node)
        same = evidence.c.spec_digest == (t.nodes.c.declared_digest if digest is None else digest)
        return exists().where(t.nodes.c.name == evidence.c.node).where(t.nodes.c.epoch == evidence.c.epoch).where(same)


def _last_judging_run(connection: Connection, node: str) -> str | None:
    query = select(t.gate_results.c.run_id).where(t.gate_results.c.node == node).order_by(t.gate_results.c.id.desc()).limit(1)
    return connection.execute(query).scalar()


def _counting(connection: Connection, query: Select[Any], is_current: ColumnElement[bool]) -> tuple[GateResult, ...]:
    """What counts of the results of this epoch."""
    same_epoch = exists().where(t.nodes.c.name == t.gate_results.c.node).where(t.nodes.c.epoch == t.gate_results.c.epoch)
    rows = connection.execute(query.where(same_epoch).add_columns(is_current.label("is_current")))
    return counting([Measured(_gate(r), r.batch, bool(r.is_current)) for r in rows])


def _newest_batches(connection: Connection, nodes: Iterable[str]) -> dict[str, int]:
    """Node -> its newest batch of gate results; nodes without one are left out."""
    found: dict[str, int] = {}
    g = t.gate_results.c
    for part in slices(nodes):
        rows = connection.execute(select(g.node, func.max(g.batch).label("newest")).where(g.node.in_(part)).group_by(g.node))
        found |= {r.node: r.newest for r in rows}
    return found


def _held_by_others(connection: Connection, run_id: str, nodes: Iterable[str], now: str) -> set[str]:
    held: set[str] = set()
    for part in slices(nodes):
        rows = connection.execute(select(t.leases).where(t.leases.c.node.in_(part), t.leases.c.run_id != run_id))
        held |= {lease.node for lease in map(lease_of, rows) if processes.is_held(lease, now)}
    return held


def _gate_values(result: GateResult) -> dict[str, Any]:
    text = {f: storable_text(getattr(result, f)) for f in _GATE_TEXT}
    return text | {
        "node": result.node,
        "outcome": result.outcome.value,
        "peers": [storable_text(p) for p in result.peers],
        "simulated": result.simulated,
        "reason": result.reason.value if result.reason else None,
        "value": result.value,
        "limit": result.limit,
        "unit": result.unit,
        "size_bytes": result.size_bytes,
        "best": result.best,
        "by_device": [[storable_text(one.device), one.value] for one in result.by_device],
        "observed": result.observed.value if result.observed else None,
        **{name: storable_text(text) for name, text in result.repair.to_json().items()},
    }


def _gate(row: Row[Any]) -> GateResult:
    return GateResult(
        **{f: getattr(row, f) for f in _GATE_TEXT},
        node=row.node,
        outcome=Outcome(row.outcome),
        peers=tuple(row.peers),
        simulated=row.simulated,
        reason=GateReason(row.reason) if row.reason else None,
        value=row.value,
        limit=row.limit,
        unit=row.unit or "",
        size_bytes=row.size_bytes,
        best=row.best,
        by_device=tuple(DeviceValue(*one) for one in row.by_device or ()),
        observed=Outcome(row.observed) if row.observed else None,
        repair=Repair.of(row.component, row.component_name, row.next_action),
    )
