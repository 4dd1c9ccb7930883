"""What observed checks and gates found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select

from clusterctl.adapters.store import finding_sets
from clusterctl.adapters.store import tables as t
from clusterctl.adapters.store.engine import reading
from clusterctl.adapters.store.repository import Repository
from clusterctl.model.observed import Observed
from clusterctl_validators.finding import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

# The worst of several results of a rule in a run counts.
_WORST_LAST = (Outcome.NOT_APPLICABLE, Outcome.PASS, Outcome.WARN, Outcome.COULD_NOT_RUN, Outcome.FAIL)


class ObservationRepository(Repository):
    """Items that are observed and do not decide."""

    def observed(self, since: str) -> tuple[Observed, ...]:
        """Every observed item on every node in every run from `since` on, oldest first."""
        with reading(self._engine) as connection:
            return tuple(sorted((*_checks(connection, since), *_gates(connection, since)), key=lambda o: (o.at, o.node, o.name, o.rule)))


def _checks(connection: Connection, since: str) -> Iterator[Observed]:
    f, v = t.finding_values.c, t.validations.c
    rows = connection.execute(select(f.id, f.check, f.observed).where(f.observed != ""))
    values = {r.id: (r.check, Outcome(r.observed)) for r in rows}
    if not values:
        return
    query = select(v.node, v.run_id, v.at, v.finding_set_id).where(v.at >= since, v.finding_set_id.is_not(None)).order_by(v.id)
    validations = [tuple(r) for r in connection.execute(query)]
    members = {
        number: [value for value in values if any(first <= value <= last for first, last in ranges)]
        for number, ranges in finding_sets.read_ranges(connection, {r[3] for r in validations}).items()
    }
    for node, run_id, at, number in validations:
        for value in members[number]:
            check, outcome = values[value]
            yield Observed(node, check, "", run_id, at, outcome)


def _gates(connection: Connection, since: str) -> Iterator[Observed]:
    """A rule that found nothing in a run in which its gate was measured has passed there."""
    g = t.gate_results.c
    items = {(r.gate, r.rule) for r in connection.execute(select(g.gate, g.rule).where(g.observed.is_not(None)).distinct())}
    columns = (g.node, g.run_id, t.runs.c.started_at, g.gate, g.rule, g.observed)
    query = (
        select(*columns).join(t.runs, t.runs.c.id == g.run_id).where(t.runs.c.started_at >= since, g.gate.in_({gate for gate, _ in items}))
    )
    worst: dict[tuple[str, str, str, str, str], Outcome] = {}
    for row in connection.execute(query.order_by(g.id)):
        for gate, rule in items:
            if gate == row.gate:
                found = Outcome(row.observed) if row.observed and row.rule == rule else Outcome.PASS
                key = (row.node, gate, rule, row.run_id, row.started_at)
                worst[key] = max(worst.get(key, Outcome.NOT_APPLICABLE), found, key=_WORST_LAST.index)
    yield from (Observed(*key, outcome) for key, outcome in worst.items())
