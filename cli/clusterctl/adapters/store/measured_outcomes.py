"""The outcome of the newest measurement of every gate on every node, in one query."""

from __future__ import annotations

from sqlalchemy import and_, func, select

from clusterctl.adapters.store import tables as t
from clusterctl.adapters.store.engine import reading
from clusterctl.adapters.store.repository import Repository
from clusterctl.model.fleet_figures import MeasuredOutcome
from clusterctl.model.gate_result import Outcome


class OutcomeRepository(Repository):
    """Gate results of a fleet without their details."""

    def measured_outcomes(self) -> tuple[MeasuredOutcome, ...]:
        """What was measured last, whether it still counts or not: a node that was quarantined for it shows it until it is measured again."""
        g, inner = t.gate_results, t.gate_results.alias()
        newest = select(inner.c.node, inner.c.gate, func.max(inner.c.batch).label("batch")).group_by(inner.c.node, inner.c.gate).subquery()
        own = and_(newest.c.node == g.c.node, newest.c.gate == g.c.gate, newest.c.batch == g.c.batch)
        query = select(g.c.node, g.c.gate, g.c.outcome).join(newest, own).distinct()
        with reading(self._engine) as connection:
            rows = connection.execute(query.order_by(g.c.node, g.c.gate, g.c.outcome))
            return tuple(MeasuredOutcome(node, gate, Outcome(outcome)) for node, gate, outcome in rows)
