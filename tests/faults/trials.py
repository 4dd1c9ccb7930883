"""The trials of the drill: every row in a rack, and racks that are healthy."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Any
from zlib import crc32

from faults.burnin import burn_in
from faults.grading import HOLDS, Statement, grade, of_checks, of_gates, of_skews
from faults.nights import usual_of
from faults.rack_findings import findings_of_rack, skews_of_rack
from faults.rack_kinds import RACK_KINDS
from faults.rows import ADDED_GATES
from faults.world import EVERY_NODE, rack_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.model.level import Level
    from faults.rows import Row
    from faults.world import Rack

COUNTED = ("detected", "held", "right_component", "right_action", "named_action", "hint_names_it")
_TWINS = 3


def stated_about(rack: Rack, checked: Sequence[str], level: Level = "standard", *, known: bool = False) -> tuple[Statement, ...]:
    """What the gates state about all nodes, and the validators about some; `known`: the parts were measured in earlier nights."""
    with rack.kind.printing():
        found = of_gates(burn_in(rack, level, usual=usual_of(rack, level) if known else None))
        checks = findings_of_rack(rack, checked)
        skews = of_skews(skews_of_rack(rack, checks))
        return (*found, *skews, *(s for name, own in checks.items() for s in of_checks(name, own)))


@cache
def _twin(kind: str, seed: str, added_gates: tuple[str, ...], level: Level, *, known: bool) -> tuple[Statement, ...]:
    rack = rack_of(RACK_KINDS[kind], seed, added_gates=added_gates)
    return stated_about(rack, rack.kind.nodes[:1], level, known=known)


def seed_of(row: Row) -> str:
    """Which of the twins a row is compared with is its own, whatever other rows there are."""
    return f"twin{crc32(row.id.encode()) % _TWINS}"


def tried(row: Row) -> dict[str, Any]:
    """A row and its grade in the first burn-in of a rack."""
    return {
        "id": row.id,
        "rack": row.rack,
        "incident": row.incident,
        "fault": row.fault,
        "tool": row.tool,
        "number": row.number,
        "source": row.source,
        "below_thresholds": row.below,
        "added_gates": row.added_gates,
        "level": row.level,
        "must_pass": row.must_pass,
        "oracle": [o.model_dump() for o in row.oracle],
        **graded_row(row, known=False),
    }


def tried_twice(row: Row) -> dict[str, Any]:
    """The same, and `in_service`: its grade after five nights in which nothing was wrong."""
    return {**tried(row), "in_service": graded_row(row, known=True)}


def graded_row(row: Row, *, known: bool) -> dict[str, Any]:
    """What is stated about a row, compared with a rack of the same noise that is healthy; `known`: the parts were measured in earlier nights."""
    seed, kind = seed_of(row), RACK_KINDS[row.rack]
    faulty = sorted(({c.node for c in row.changes} | {o.node for o in row.oracle}) - {"", EVERY_NODE})
    everywhere = any(c.node == EVERY_NODE for c in row.changes)
    added = ADDED_GATES if row.added_gates else ()
    checked = sorted({*faulty, *(kind.nodes[:1] if everywhere else ())})
    stated = stated_about(rack_of(kind, seed, row.changes, added), checked, row.level, known=known)
    healthy = _twin(row.rack, seed, added, row.level, known=known)
    behind_a_switch = any(not o.node for o in row.oracle)
    grades = [grade(oracle, stated, healthy, frozenset(faulty)) for oracle in row.oracle]
    held = sorted({s.node for s in stated if s.outcome in HOLDS} - set(faulty))
    return {
        **{key: all(getattr(g, key) for g in grades) for key in COUNTED},
        "shown_by": list(dict.fromkeys(text for g in grades for text in g.shown_by)),
        "healthy_nodes_held": [] if behind_a_switch else held,
    }


@dataclass(frozen=True)
class HealthyRack:
    """A rack without a fault.

    Attributes:
        rack: its kind; held: nodes that would be quarantined, with what says so.
        warnings: results that are shown only; by_history: those of them that say that a part is slower than it was.
    """

    rack: str
    seed: str
    held: tuple[str, ...]
    warnings: int
    by_history: int


def healthy_rack(kind: str, number: int) -> dict[str, Any]:
    """One rack, all of its nodes through validators and gates, with the added ones, and after five nights: these can hold more nodes, never fewer."""
    rack = rack_of(RACK_KINDS[kind], f"healthy{number}", added_gates=ADDED_GATES)
    stated = stated_about(rack, rack.kind.nodes, known=True)
    held = tuple(f"{s.node}: {s.key} {s.device}".strip() for s in stated if s.outcome in HOLDS)
    by_history = sum(".history." in s.key for s in stated)
    return asdict(HealthyRack(kind, rack.seed, held, sum(s.outcome not in HOLDS for s in stated), by_history))
