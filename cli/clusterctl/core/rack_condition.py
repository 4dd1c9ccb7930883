"""The condition of a rack, from the states of its nodes. A node is never degraded: it is proven good, or it is out."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from clusterctl.model.rack_condition import RackCondition, RackStatus
from clusterctl.model.state import State

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from clusterctl.model.records import NodeRecord


def racks_of(nodes: Iterable[NodeRecord], names: Collection[str]) -> tuple[RackStatus, ...]:
    """The named racks, by name. Nodes without a rack are in none; retired nodes do not count, those at the vendor's are missing."""
    states: dict[str, Counter[State]] = {name: Counter() for name in sorted(names) if name}
    for (rack, state), count in Counter((n.rack, n.state) for n in nodes).items():
        if rack in states and state is not State.RETIRED:
            states[rack][state] = count
    return tuple(RackStatus(name, condition(found), found[State.ADMITTED], found.total()) for name, found in states.items())


def condition(counts: Mapping[State, int]) -> RackCondition:
    """The condition of a rack with so many nodes in each state."""
    admitted = counts.get(State.ADMITTED, 0)
    if admitted:
        return RackCondition.IN_SERVICE if admitted == sum(counts.values()) else RackCondition.DEGRADED
    return RackCondition.MAINTENANCE if counts.get(State.MAINTENANCE) else RackCondition.OUT_OF_SERVICE
