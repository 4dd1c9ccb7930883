"""The trials of the drill: every row in a rack, and racks that are healthy."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Any
from zlib import crc32

from faults.burnin import burn_in
from faults.grading import HOLDS, Statement, grade, of_checks, of_gates
from faults.node_files import findings
from faults.rows import ADDED_GATES, load_vocabulary
from faults.world import NODES, Rack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from faults.rows import Row

_TWINS = 3


def stated_about(rack: Rack, checked: Sequence[str]) -> tuple[Statement, ...]:
    """What the gates state about all nodes, and the validators about some."""
    words = load_vocabulary()
    found = of_gates(burn_in(rack), words)
    return (*found, *(s for name in checked for s in of_checks(name, findings(rack, name), words)))


@cache
def _twin(seed: str, added_gates: tuple[str, ...]) -> tuple[Statement, ...]:
    return stated_about(Rack(seed, added_gates=added_gates), NODES[:1])


def seed_of(row: Row) -> str:
    """Which of the twins a row is compared with is its own, whatever other rows there are."""
    return f"twin{crc32(row.id.encode()) % _TWINS}"


def tried(row: Row) -> dict[str, Any]:
    """A row and its grade."""
    seed = seed_of(row)
    faulty = sorted({c.node for c in row.changes if c.node} | {o.node for o in row.oracle if o.node})
    added = ADDED_GATES if row.added_gates else ()
    stated, healthy = stated_about(Rack(seed, row.changes, added_gates=added), faulty), _twin(seed, added)
    behind_a_switch = any(not o.node for o in row.oracle)
    grades = [grade(oracle, stated, healthy, frozenset(faulty)) for oracle in row.oracle]
    held = sorted({s.node for s in stated if s.outcome in HOLDS} - set(faulty))
    return {
        "id": row.id,
        "incident": row.incident,
        "fault": row.fault,
        "tool": row.tool,
        "number": row.number,
        "source": row.source,
        "below_thresholds": row.below,
        "added_gates": row.added_gates,
        "must_pass": row.must_pass,
        "oracle": [o.model_dump() for o in row.oracle],
        **{key: all(getattr(g, key) for g in grades) for key in ("detected", "held", "right_component", "right_action", "named_action")},
        "shown_by": list(dict.fromkeys(text for g in grades for text in g.shown_by)),
        "healthy_nodes_held": [] if behind_a_switch else held,
    }


@dataclass(frozen=True)
class HealthyRack:
    """A rack without a fault: `held`: nodes that would be quarantined, with what says so; `warnings`: results that are shown only."""

    seed: str
    held: tuple[str, ...]
    warnings: int


def healthy_rack(number: int) -> dict[str, Any]:
    """One rack, all of its nodes through validators and gates, with the added ones: more gates can hold more nodes, never fewer."""
    stated = stated_about(Rack(f"healthy{number}", added_gates=ADDED_GATES), NODES)
    held = tuple(f"{s.node}: {s.key} {s.device}".strip() for s in stated if s.outcome in HOLDS)
    return asdict(HealthyRack(f"healthy{number}", held, sum(s.outcome not in HOLDS for s in stated)))
