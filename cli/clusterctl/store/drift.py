"""Deviations that drift runs see night after night: one row each, with first and last seen, open until a run sees the check hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import and_, func, insert, select, update

from clusterctl.drift.memory import Seen
from clusterctl.drift.model import Then
from clusterctl.findings import NodeStatus
from clusterctl.store import tables as t
from clusterctl.store.base import Repository, clean, slices
from clusterctl.store.engine import reading, writing
from clusterctl_validators.finding import GOOD, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy import ColumnElement

    from clusterctl.drift.model import Deviation


class DriftRepository(Repository):
    """What drift runs saw."""

    def expected_then(self, digests: Mapping[str, str]) -> dict[str, dict[str, Then]]:
        """Node -> check -> what was expected and found by its newest complete validation under the digest given."""
        found: dict[str, dict[str, Then]] = {}
        with reading(self._engine) as connection:
            for part in slices(digests):
                v = t.validations.c
                newest = (
                    select(v.node, v.spec_digest, func.max(v.id).label("id"))
                    .where(v.node.in_(part), v.status == NodeStatus.OK.value)
                    .group_by(v.node, v.spec_digest)
                )
                ids = {r.id: r.node for r in connection.execute(newest) if digests[r.node] and r.spec_digest == digests[r.node]}
                f = t.findings.c
                for some in slices(map(str, ids)):
                    rows = connection.execute(
                        select(f.validation_id, f.check, f.expected, f.found, f.outcome).where(f.validation_id.in_(map(int, some)))
                    )
                    for row in rows:
                        found.setdefault(ids[row.validation_id], {})[row.check] = Then(
                            row.expected, row.found, Outcome(row.outcome) in GOOD
                        )
        return found

    def open_drift(self, nodes: Iterable[str]) -> tuple[Seen, ...]:
        """The deviations of these nodes that no run has seen the end of."""
        d = t.drift.c
        found: list[Seen] = []
        with reading(self._engine) as connection:
            for part in slices(nodes):
                query = select(d.node, d.check, d.first_seen, d.last_seen).where(d.node.in_(part), d.ended_at == "")
                found += [Seen(*row) for row in connection.execute(query.order_by(d.node, d.check))]
        return tuple(found)

    def save_drift(self, run_id: str, deviations: Iterable[Deviation], ended: Iterable[Seen]) -> None:
        """Record a drift run, whole or not at all."""
        moment, d = self._clock(), t.drift.c
        with writing(self._engine) as connection:
            for over in ended:
                connection.execute(update(t.drift).where(_is(over.node, over.check)).values(ended_at=moment, last_run=run_id))
            for one in deviations:
                values = {
                    "role": one.role,
                    "kind": one.kind.value,
                    "severity": one.severity.value,
                    "expected": clean(one.expected),
                    "found": clean(one.found),
                    "last_seen": one.last_seen,
                    "last_run": run_id,
                }
                row = update(t.drift).where(_is(one.node, one.check)).values(**values, seen=d.seen + 1)
                if connection.execute(row).rowcount == 0:
                    new = {"node": one.node, "check": one.check, "first_seen": one.first_seen, "ended_at": "", "seen": 1}
                    connection.execute(insert(t.drift).values(**new, **values))


def _is(node: str, check: str) -> ColumnElement[bool]:
    return and_(t.drift.c.node == node, t.drift.c.check == check, t.drift.c.ended_at == "")
