"""Measurements over time for curves. What is read is bounded: the newest results of the record, whatever its age."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import String, and_, case, cast, func, or_, select, tuple_

from clusterctl.adapters.store import tables as t
from clusterctl.adapters.store.engine import reading
from clusterctl.adapters.store.fleet_sample import sampled_results
from clusterctl.adapters.store.repository import Repository
from clusterctl.core.fleet_days import FleetValue, fleet_days
from clusterctl.model.gate_result import Figure, GateResult, Outcome
from clusterctl.model.measured_curve import CURVE_RULES, CURVE_RUNS, UPPER_RULES, FleetKey, RecordedCurves
from clusterctl.model.own_history import PastResult

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from sqlalchemy import ColumnElement, Connection, FromClause, Row, Select

    from clusterctl.model.measured_curve import CurveKey
    from clusterctl.model.measurement_series import FleetDay

# Twenty runs of a fleet of 1,000 nodes with 100 results each; `clusterctl report` reads them in seconds.
_NEWEST = 2_000_000
# Of these, so many values of the fleet.
_OF_FLEET = 500_000
_AT_A_TIME = 10_000
# A run has a result for each limit of a figure, and for each bad device of a node.
_PAST = 8 * CURVE_RUNS
_OF_VALUE = ("own_device", "own_value", "is_upper")
_SHOWN = (Outcome.PASS, Outcome.WARN, Outcome.FAIL)


class CurveRepository(Repository):
    """Values over time of a few devices, and of the fleet."""

    def recorded_curves(self, wanted: Collection[CurveKey], until: str) -> RecordedCurves:
        """What was measured in runs that started until then: the last runs of the wanted keys, of which there is one at least, and the days of all nodes for their figures."""
        with reading(self._engine) as connection:
            last = connection.execute(select(func.max(t.gate_results.c.id))).scalar() or 0
            among = and_(t.gate_results.c.id > last - _NEWEST, *_measured(), t.runs.c.started_at <= until)
            past = tuple(_past(row) for row in connection.execute(_own(wanted, among)))
            of_all = _fleet({k.figure for k in wanted}, t.gate_results, among).order_by(t.gate_results.c.id.desc()).limit(_OF_FLEET)
            return RecordedCurves(past, fleet_days(_fleet_values(connection, of_all)))

    def fleet_of_runs(self, figures: Collection[Figure], profile: str, runs: Collection[str]) -> dict[FleetKey, tuple[FleetDay, ...]]:
        """The days of some nodes with this profile, as measured in these runs: for an answer in less than a second, however large the fleet is."""
        with reading(self._engine) as connection:
            sampled = sampled_results(connection, runs, profile)
            if sampled is None:
                return {}
            g = t.gate_results
            of_sampled = sampled.join(g, and_(g.c.node == sampled.c.node, g.c.id > sampled.c.floor))
            among = and_(g.c.run_id.in_(runs), *_measured())
            return fleet_days(_fleet_values(connection, _fleet(figures, of_sampled, among)))


def _measured() -> tuple[ColumnElement[bool], ...]:
    g = t.gate_results.c
    judged = func.coalesce(g.observed, g.outcome).in_([o.value for o in _SHOWN])
    return g.value.is_not(None), g.rule.in_(CURVE_RULES), judged


def _own(wanted: Collection[CurveKey], among: ColumnElement[bool]) -> Select[Any]:
    """The newest results of each wanted key, oldest first."""
    g = t.gate_results.c
    devices = sorted({(k.node, k.figure.gate, k.figure.metric, k.device) for k in wanted if k.device})
    nodes = sorted({(k.node, k.figure.gate, k.figure.metric) for k in wanted if not k.device})
    chosen = or_(tuple_(g.node, g.gate, g.metric, g.device).in_(devices), tuple_(g.node, g.gate, g.metric).in_(nodes))
    key = (g.node, g.gate, g.metric, g.device, g.unit, g.op, g.size_bytes, g.tool_version)
    newest_first = func.row_number().over(partition_by=key, order_by=g.id.desc()).label("number")
    columns = (g.id, g.run_id, *key, g.peers, g.outcome, g.rule, g.value, g.best, g.limit, g.simulated)
    of_nodes = select(*columns, t.runs.c.started_at, newest_first).join(t.runs, t.runs.c.id == g.run_id)
    inner = of_nodes.where(g.node.in_(sorted({k.node for k in wanted})), chosen, among).subquery()
    return select(inner).where(inner.c.number <= _PAST).order_by(inner.c.id)


def _past(row: Row[Any]) -> PastResult:
    result = GateResult(
        row.gate,
        row.node,
        Outcome(row.outcome),
        row.rule,
        row.metric,
        device=row.device,
        peers=tuple(row.peers),
        simulated=row.simulated,
        value=row.value,
        limit=row.limit,
        unit=row.unit or "",
        op=row.op,
        size_bytes=row.size_bytes,
        tool_version=row.tool_version,
        best=row.best,
    )
    return PastResult(result, row.run_id, row.started_at)


def _fleet(figures: Collection[Figure], results: FromClause, among: ColumnElement[bool]) -> Select[Any]:
    """The values of some figures, each with what it is of."""
    g = t.gate_results.c
    named = sorted({(f.gate, f.metric) for f in figures})
    device = case((cast(g.peers, String) == "[]", ""), else_=g.device).label("own_device")
    value = func.coalesce(g.best, g.value).label("own_value")
    is_upper = case((g.rule.in_(UPPER_RULES), 1), else_=0).label("is_upper")
    day = func.substr(t.runs.c.started_at, 1, 10).label("day")
    key = (g.gate, g.metric, g.unit, g.op, g.size_bytes, g.tool_version, t.nodes.c.profile, g.simulated, day, g.run_id, g.node)
    joined = results.join(t.runs, t.runs.c.id == g.run_id).join(t.nodes, t.nodes.c.name == g.node)
    return select(*key, device, value, is_upper).select_from(joined).where(tuple_(g.gate, g.metric).in_(named), among)


def _fleet_values(connection: Connection, values: Select[Any]) -> Iterator[FleetValue]:
    """A row for each device, or for each node where the values are of nodes, in each run."""
    one = values.subquery().c
    of_key = [column for column in one if column.name not in _OF_VALUE]
    read = (func.min(one.own_value), func.max(one.own_value), func.max(one.is_upper))
    query = select(*of_key, *read).group_by(*of_key, one.own_device).order_by(*of_key, one.own_device)
    streamed = connection.execution_options(yield_per=_AT_A_TIME).execute(query)
    keys: dict[tuple[Any, ...], FleetKey] = {}
    for gate, metric, unit, op, size, version, profile, simulated, day, run_id, node, lowest, highest, is_upper in streamed:
        of = (gate, metric, unit, op, size, version, profile, simulated)
        if of not in keys:
            keys[of] = FleetKey(Figure(gate, metric, unit or "", op, size or 0), version, profile, bool(simulated))
        yield FleetValue(keys[of], day, run_id, node, lowest, highest, bool(is_upper))
