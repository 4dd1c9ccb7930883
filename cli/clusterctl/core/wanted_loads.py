"""Of which nodes the load of `gpu_stress` is drawn. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.core.gates.gpu_stress import GATE
from clusterctl.model.run_report import WORST_FIRST
from clusterctl_validators.finding import QUIET

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterctl.model.gate_result import GateResult
    from clusterctl.model.run_report import NodeSection

# A node takes up to 9 kB of a page, with its repeat: so many keep a page of any run below its limits.
MOST_LOADS = 24


def bad_loads(section: NodeSection) -> tuple[GateResult, ...]:
    """The results of the gate that are to be looked at: failures and warnings."""
    return tuple(r for r in section.gate_results if r.gate == GATE.name and r.outcome not in QUIET)


def loads_with_room(sections: Iterable[NodeSection]) -> frozenset[str]:
    """The nodes that are drawn: failures before warnings, then those with more of them."""

    def rank(section: NodeSection) -> tuple[int, int]:
        results = bad_loads(section)
        worst = min(WORST_FIRST[r.outcome] for r in results)
        return worst, -sum(WORST_FIRST[r.outcome] == worst for r in results)

    return frozenset(s.name for s in sorted(filter(bad_loads, sections), key=rank)[:MOST_LOADS])
