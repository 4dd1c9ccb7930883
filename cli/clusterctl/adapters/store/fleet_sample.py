"""Which nodes and results stand for the fleet where an answer must be quick: a bounded number, read by the index of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import Integer, Text, column, func, select, values

from clusterctl.adapters.store import tables as t

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import CTE, Connection, Select

# Of each run: with eight devices each, 5 % of their values are ten.
_OF_RUN = 25
_OF_RUNS = 3 * _OF_RUN
# The newest results of each, about ten burn-ins of 100 results.
_OF_NODE = 1000


def sampled_results(connection: Connection, runs: Collection[str], profile: str) -> CTE | None:
    """Nodes with a profile in these runs, each with the id above which its results are searched; None where there are none."""
    nodes: list[str] = []
    for run in sorted(runs, reverse=True):
        if len(nodes) < _OF_RUNS and _measured(connection, run, nodes) < _OF_RUN // 2:
            nodes += [n for n in connection.execute(_spread(run, profile)).scalars() if n not in nodes]
    if not nodes:
        return None
    floors = [(row.name, row.floor or 0) for row in connection.execute(_floors(nodes[:_OF_RUNS]))]
    return values(column("node", Text), column("floor", Integer), name="sampled_values").data(floors).cte("sampled")


def _measured(connection: Connection, run: str, nodes: Collection[str]) -> int:
    """How many of these nodes are in a run: nightly runs of a fleet have the same ones."""
    own = t.run_nodes.c
    return connection.execute(select(func.count()).where(own.run_id == run, own.node.in_(nodes))).scalar() or 0


def _spread(run: str, profile: str) -> Select[Any]:
    """The nodes of a run, evenly spread by name."""
    own = t.run_nodes.c
    place = func.row_number().over(order_by=own.node).label("place")
    joined = t.run_nodes.join(t.nodes, t.nodes.c.name == own.node)
    of_run = (own.run_id == run, t.nodes.c.profile == profile)
    inner = select(own.node, place, func.count().over().label("size")).select_from(joined).where(*of_run).subquery()
    return select(inner.c.node).where((inner.c.place - 1) * _OF_RUN % inner.c.size < _OF_RUN).order_by(inner.c.node)


def _floors(nodes: Collection[str]) -> Select[Any]:
    g = t.gate_results.c
    floor = select(g.id).where(g.node == t.nodes.c.name).order_by(g.id.desc()).offset(_OF_NODE).limit(1).scalar_subquery()
    return select(t.nodes.c.name, floor.label("floor")).where(t.nodes.c.name.in_(nodes))
