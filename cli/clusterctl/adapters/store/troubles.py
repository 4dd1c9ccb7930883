"""What is recorded against nodes over time: transitions, gate results that are not passes, findings of flapping links, boots, and the parts that were there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import Select, and_, select

from clusterctl.adapters.store import finding_sets
from clusterctl.adapters.store import tables as t
from clusterctl.adapters.store.engine import reading
from clusterctl.adapters.store.repository import Repository, slices
from clusterctl.adapters.store.transitions import transition_row
from clusterctl.model.boots import KEPT_OUT, RETURNED
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import Outcome
from clusterctl.model.part import Part
from clusterctl.model.state import State
from clusterctl.model.trouble import BadResult, PartSpan, Trouble, TroubleKind, TroubleSources
from clusterctl_validators import link_flaps

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sqlalchemy import Column, Connection, Row

_MOVES = tuple(s.value for s in (State.ADMITTED, State.QUARANTINED, State.DRAINED))
_BAD = tuple(o.value for o in (Outcome.FAIL, Outcome.WARN, Outcome.COULD_NOT_RUN))


class TroubleRepository(Repository):
    """Events against nodes."""

    def trouble_sources(self, since: str, nodes: Iterable[str] | None = None) -> TroubleSources:
        """All that was recorded from `since` on, of all nodes; or of `nodes`, and of the nodes in which their parts were before.

        Parts at any time: those of nodes with an event, wherever they are now.
        """
        with reading(self._engine) as connection:
            nodes = None if nodes is None else _with_former_places(connection, nodes)
            moves, bad = _transitions(since), _bad_results(since)
            rows = sorted((transition_row(r) for r in _of(connection, moves, t.transitions.c.node, nodes)), key=lambda r: r.id)
            results = [_bad(r) for r in _of(connection, bad, t.gate_results.c.node, nodes)]
            flaps = list(_flaps(connection, since, nodes))
            boots = [
                Trouble(r.node, TroubleKind.UNPLANNED_BOOT, r.started_at, r.run_id)
                for r in _of(connection, _boots(since), t.run_nodes.c.node, nodes)
            ]
            involved = {r.node for r in rows} | {r.node for r in results} | {e.node for e in (*flaps, *boots)}
            return TroubleSources(tuple(rows), tuple(results), tuple(flaps), _parts(connection, involved), tuple(boots))


def _transitions(since: str) -> Select[Any]:
    c = t.transitions.c
    return select(t.transitions).where(c.at >= since, c.to_state.in_(_MOVES)).order_by(c.id)


def _bad_results(since: str) -> Select[Any]:
    """What is observed decides nothing, so it counts against no node."""
    g, r = t.gate_results.c, t.runs.c
    query = select(g.node, g.run_id, r.started_at, g.gate, g.outcome, g.reason, g.metric, g.device).join(t.runs, r.id == g.run_id)
    return query.where(r.started_at >= since, g.outcome.in_(_BAD), g.observed.is_(None)).order_by(g.id)


def _boots(since: str) -> Select[Any]:
    n, r = t.run_nodes.c, t.runs.c
    query = select(n.node, n.run_id, r.started_at).join(t.runs, r.id == n.run_id)
    return query.where(r.started_at >= since, r.verb == "drift", n.outcome.in_((RETURNED, KEPT_OUT))).order_by(r.started_at, n.node)


def _of(connection: Connection, query: Select[Any], node: Column[Any], nodes: Iterable[str] | None) -> Iterator[Row[Any]]:
    if nodes is None:
        yield from connection.execute(query)
        return
    for part in slices(nodes):
        yield from connection.execute(query.where(node.in_(part)))


def _with_former_places(connection: Connection, nodes: Iterable[str]) -> set[str]:
    """The nodes, and those that had a part that is or was in one of them."""
    names, here, there = set(nodes), t.parts.alias(), t.parts.alias()
    query = (
        select(there.c.node).select_from(here.join(there, here.c.serial == there.c.serial)).where(here.c.node != there.c.node).distinct()
    )
    return names.union(*(connection.execute(query.where(here.c.node.in_(part))).scalars() for part in slices(names)))


def _bad(row: Row[Any]) -> BadResult:
    reason = GateReason(row.reason) if row.reason else None
    return BadResult(row.node, row.run_id, row.started_at, row.gate, Outcome(row.outcome), reason, row.metric, row.device)


def _flaps(connection: Connection, since: str, nodes: Iterable[str] | None) -> Iterator[Trouble]:
    """A finding that shows the losses of an earlier one shows no new loss, however it is judged now: kernel log and counters, which the checks read, keep the old ones.

    What has its cause above the node counts against none of its parts.
    """
    f, v = t.finding_values.c, t.validations.c
    failing = and_(f.outcome == Outcome.FAIL.value, f.check.endswith(link_flaps.END, autoescape=True), f.above == "")
    found = connection.execute(select(f.id, f.check, f.found).where(failing))
    losses = {r.id: (device, r.check, r.found) for r in found if (device := link_flaps.flapping_device(r.check))}
    if not losses:
        return
    query = select(v.node, v.run_id, v.at, v.finding_set_id).where(v.at >= since, v.finding_set_id.is_not(None)).order_by(v.id)
    rows = [tuple(r) for r in _of(connection, query, v.node, nodes)]
    flapping = {
        number: [losses[value] for value in losses if any(first <= value <= last for first, last in ranges)]
        for number, ranges in finding_sets.read_ranges(connection, {r[3] for r in rows}).items()
    }
    seen: set[tuple[str, ...]] = set()
    for node, run_id, at, number in rows:
        for loss in flapping[number]:
            if (node, *loss) not in seen:
                seen.add((node, *loss))
                yield Trouble(node, TroubleKind.LINK_FLAP, at, run_id, loss[0])


def _parts(connection: Connection, nodes: Iterable[str]) -> tuple[PartSpan, ...]:
    """The parts of these nodes, and where they were besides."""
    here, p = t.parts.alias(), t.parts.c
    serials = select(here.c.serial)
    columns = (p.id, p.node, p.kind, p.slot, p.name, p.model, p.serial, p.ended_run, t.runs.c.started_at)
    query: Select[Any] = select(*columns).select_from(t.parts.outerjoin(t.runs, t.runs.c.id == p.ended_run))
    rows = {
        row.id: row for part in slices(nodes) for row in connection.execute(query.where(p.serial.in_(serials.where(here.c.node.in_(part)))))
    }
    return tuple(_span(rows[key]) for key in sorted(rows))


def _span(row: Row[Any]) -> PartSpan:
    # a part that ended in a run that is not recorded any more ended before all that is
    ended_at = (row.started_at or "0") if row.ended_run else ""
    return PartSpan(row.node, Part(row.kind, row.slot, row.name, row.model, row.serial), ended_at)
