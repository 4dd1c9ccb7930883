"""Which loads of GPUs are drawn. Pure."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from clusterctl.core.gates.load_gate import load_gates
from clusterctl.model.run_report import WORST_FIRST
from clusterctl_validators.finding import QUIET

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.core.gates.load_gate import LoadGate
    from clusterctl.model.gate_result import GateResult
    from clusterctl.model.run_report import NodeSection

# A load takes up to 10 kB of a page, with its repeat: so many keep a page of any run below its limits.
MOST_LOADS = 24
# A page of few nodes has room for fewer: for one of each node, and for two of each of these few.
_LEAST_ROOM = 6


def bad_loads(section: NodeSection, gate: LoadGate) -> tuple[GateResult, ...]:
    """The results of a gate that are to be looked at: failures and warnings."""
    return tuple(r for r in section.gate_results if r.gate == gate.name and r.outcome not in QUIET)


def wanted_loads(sections: Sequence[NodeSection]) -> tuple[tuple[NodeSection, LoadGate], ...]:
    """The loads of nodes with something to look at, whatever gate made them."""
    gates = load_gates()
    return tuple((section, gate) for section in sections for gate in gates if bad_loads(section, gate))


def loads_with_room(sections: Sequence[NodeSection]) -> frozenset[tuple[str, str]]:
    """Node and gate of those that are drawn: each node's worst before any has a second; failures before warnings, then those with more of them."""
    ranked: list[tuple[tuple[int, int, int], str, str]] = []
    for section, wanted in groupby(wanted_loads(sections), key=lambda one: one[0]):
        own = sorted((_rank(bad_loads(section, gate)), gate.name) for _, gate in wanted)
        ranked += (((place, *rank), section.name, gate) for place, (rank, gate) in enumerate(own))
    room = min(MOST_LOADS, max(_LEAST_ROOM, len(sections)))
    return frozenset((node, gate) for _, node, gate in sorted(ranked, key=lambda one: one[0])[:room])


def _rank(results: Sequence[GateResult]) -> tuple[int, int]:
    worst = min(WORST_FIRST[r.outcome] for r in results)
    return worst, -sum(WORST_FIRST[r.outcome] == worst for r in results)
