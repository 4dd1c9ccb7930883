"""Deviations that drift runs find: one row each, with first and last seen, open until a run finds that the check passes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import and_, insert, select, update

from clusterctl.adapters.store import finding_sets
from clusterctl.adapters.store import tables as t
from clusterctl.adapters.store.engine import reading, writing
from clusterctl.adapters.store.repository import Repository, slices, storable_text
from clusterctl.core.drift.memory import Seen
from clusterctl.model.drift import Then
from clusterctl.model.findings import NodeStatus
from clusterctl_validators.finding import GOOD, Outcome

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from sqlalchemy import ColumnElement, Connection

    from clusterctl.model.drift import Deviation


class DriftRepository(Repository):
    """Deviations, and what was expected before."""

    def expected_then(self, checks: Mapping[str, Collection[str]]) -> dict[str, dict[str, Then]]:
        """Node -> check -> what its newest complete validation under its last applied spec expected and found.

        Reads only the named checks of each node; a node that was never provisioned has none.
        """
        found: dict[str, dict[str, Then]] = {}
        with reading(self._engine) as connection:
            for number, names in _newest_sets(connection, [n for n in checks if checks[n]]).items():
                then = _then(connection, number, {check for name in names for check in checks[name]})
                for name in names:
                    found[name] = {check: then[check] for check in checks[name] if check in then}
        return found

    def open_drift(self, nodes: Iterable[str]) -> tuple[Seen, ...]:
        """The open deviations of these nodes."""
        d = t.drift.c
        found: list[Seen] = []
        with reading(self._engine) as connection:
            for part in slices(nodes):
                query = select(d.node, d.check, d.first_seen, d.last_seen).where(d.node.in_(part), d.ended_at == "")
                found += [Seen(*row) for row in connection.execute(query.order_by(d.node, d.check))]
        return tuple(found)

    def save_drift(self, run_id: str, deviations: Iterable[Deviation], ended: Iterable[Seen]) -> None:
        """Record the deviations of a drift run in one transaction."""
        moment, d = self._clock(), t.drift.c
        with writing(self._engine) as connection:
            for over in ended:
                connection.execute(update(t.drift).where(_is(over.node, over.check)).values(ended_at=moment, last_run=run_id))
            for one in deviations:
                values = {
                    "role": one.role,
                    "kind": one.kind.value,
                    "severity": one.severity.value,
                    "expected": storable_text(one.expected),
                    "found": storable_text(one.found),
                    "last_seen": one.last_seen,
                    "last_run": run_id,
                }
                row = update(t.drift).where(_is(one.node, one.check)).values(**values, seen=d.seen + 1)
                if connection.execute(row).rowcount == 0:
                    new = {"node": one.node, "check": one.check, "first_seen": one.first_seen, "ended_at": "", "seen": 1}
                    connection.execute(insert(t.drift).values(**new, **values))


def _newest_sets(connection: Connection, nodes: Iterable[str]) -> dict[int, list[str]]:
    """Finding set -> the nodes whose newest complete validation under their last applied spec has it."""
    n, v = t.nodes.c, t.validations.c
    newest = (
        select(v.finding_set_id)
        .where(v.node == n.name, v.spec_digest == n.spec_digest, v.status == NodeStatus.OK.value)
        .order_by(v.id.desc())
        .limit(1)
        .correlate(t.nodes)
        .scalar_subquery()
    )
    found: dict[int, list[str]] = {}
    for part in slices(nodes):
        for name, number in connection.execute(select(n.name, newest).where(n.name.in_(part), n.spec_digest != "")):
            if number is not None:
                found.setdefault(number, []).append(name)
    return found


def _then(connection: Connection, set_id: int, checks: Iterable[str]) -> dict[str, Then]:
    f = t.finding_values.c
    id_ranges = finding_sets.read_ranges(connection, [set_id])[set_id]
    found: dict[str, Then] = {}
    for part in slices(checks):
        for within in finding_sets.range_conditions(id_ranges):
            rows = connection.execute(select(f.check, f.expected, f.found, f.outcome).where(within, f.check.in_(part)))
            found |= {r.check: Then(r.expected, r.found, Outcome(r.outcome) in GOOD) for r in rows}
    return found


def _is(node: str, check: str) -> ColumnElement[bool]:
    return and_(t.drift.c.node == node, t.drift.c.check == check, t.drift.c.ended_at == "")
