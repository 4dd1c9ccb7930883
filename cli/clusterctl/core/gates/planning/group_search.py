"""Which nodes make a group bad: the group again, then halves along the topology, then each node with a proven one. Pure.

A level measures all of its groups at once, so n nodes take at most ceil(log2 n) + 2 levels, the repetition included, where proven nodes suffice.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Group = tuple[str, ...]
# A group of fewer is not halved: a single node measures nothing.
_LEAST_HALVED = 4
# A cut between two leaves is taken where it leaves either side this share of the nodes.
_LEAST_SIDE = 0.25


class GroupState(StrEnum):
    """What a run over a group showed: BAD is below its floor, or wrong results; UNKNOWN is not a measurement, or one that no floor holds for."""

    OK = "ok"
    BAD = "bad"
    UNKNOWN = "unknown"


class SearchEnd(StrEnum):
    """How a search ended; OPEN has a next level."""

    OPEN = "open"
    COLLISION = "collision"
    CULPRITS = "culprits"
    ONLY_TOGETHER = "only_together"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class GroupSearch:
    """The search in one group whose run was bad.

    Attributes:
        whole: its nodes in the order of the topology; `leaves`: node -> its leaf.
        runs: what was measured after that run: (nodes, state), in any order; a pair may have a node of a proven group.
    """

    whole: Group
    leaves: Mapping[str, str]
    runs: Sequence[tuple[Group, GroupState]] = ()

    @cached_property
    def _states(self) -> dict[frozenset[str], GroupState]:
        return {frozenset(nodes): state for nodes, state in self.runs}

    @cached_property
    def _proven(self) -> tuple[str, ...]:
        """Nodes of groups that reached their floor, but for the whole, which was bad before."""
        groups = [nodes for nodes, state in self._states.items() if state is GroupState.OK and len(nodes) < len(self.whole)]
        return tuple(n for n in self.whole if any(n in g for g in groups))

    def next_level(self) -> tuple[Group, ...]:
        """The groups to measure next, all at once: no node is in two of them. Empty at the end."""
        again = self._state(self.whole)
        if again is None:
            return (self.whole,)
        found = tuple(self._open(self.whole)) if again is GroupState.BAD else ()
        return _apart(found)

    def culprits(self) -> tuple[str, ...]:
        """The nodes that were bad in every group that they were in, at last with a proven node alone."""
        return tuple(n for group in self._smallest() for n in group if self._with_proven(n) is GroupState.BAD)

    def end(self) -> SearchEnd:
        """How it ended."""
        if self.next_level():
            return SearchEnd.OPEN
        again = self._state(self.whole)
        if again is GroupState.OK:
            return SearchEnd.COLLISION
        if self.culprits():
            return SearchEnd.CULPRITS
        unknown = not self._proven or any(state is GroupState.UNKNOWN for state in self._states.values())
        return SearchEnd.UNKNOWN if unknown else SearchEnd.ONLY_TOGETHER

    def _state(self, group: Sequence[str]) -> GroupState | None:
        return self._states.get(frozenset(group))

    def _open(self, group: Group) -> Iterator[Group]:
        """What is not yet measured below a group that is bad."""
        if len(group) < _LEAST_HALVED:
            yield from self._pairs(group)
            return
        halves = self._halves(group)
        states = [self._state(half) for half in halves]
        if None in states:
            yield from (half for half, state in zip(halves, states, strict=True) if state is None)
        elif GroupState.BAD in states:
            for half in (h for h, state in zip(halves, states, strict=True) if state is GroupState.BAD):
                yield from self._open(half)
        elif GroupState.UNKNOWN not in states:
            yield from (other for other in self._swapped(*halves) if self._state(other) is None)

    def _pairs(self, group: Group) -> Iterator[Group]:
        """Each node of a smallest group with a proven one of another group."""
        partners = [n for n in self._proven if n not in group]
        waiting = [n for n in group if self._with_proven(n) is None]
        for node in waiting:
            yield from ((node, partner) for partner in partners)

    def _with_proven(self, node: str) -> GroupState | None:
        for nodes, state in self._states.items():
            if len(nodes) == 2 and node in nodes and set(nodes) - {node} <= set(self._proven):  # noqa: PLR2004 a pair
                return state
        return None

    def _smallest(self) -> Iterator[Group]:
        """The groups that were bad and are not halved further."""
        waiting = [self.whole] if self._state(self.whole) is GroupState.BAD else []
        while waiting:
            group = waiting.pop()
            if len(group) < _LEAST_HALVED:
                yield group
            else:
                waiting += [half for half in self._halves(group) if self._state(half) is GroupState.BAD]

    def _halves(self, group: Group) -> tuple[Group, Group]:
        """At the border between two leaves that is next to the middle, where there is one that is not too far from it; else in the middle."""
        middle = len(group) / 2
        least = max(2, round(_LEAST_SIDE * len(group)))
        borders = [i for i in range(least, len(group) - least + 1) if self.leaves.get(group[i - 1], "") != self.leaves.get(group[i], "")]
        cut = min(borders, key=lambda i: abs(i - middle), default=len(group) // 2)
        return group[:cut], group[cut:]

    def _swapped(self, one: Group, other: Group) -> tuple[Group, Group]:
        """The first quarters of two halves together, and the second ones: whether what is between the halves is bad."""
        a, b = len(one) // 2, len(other) // 2
        return one[:a] + other[:b], one[a:] + other[b:]


def _apart(groups: Sequence[Group]) -> tuple[Group, ...]:
    """Groups in their order, without those of which a node is taken already."""
    taken: set[str] = set()
    found = []
    for group in groups:
        if not taken & set(group):
            taken |= set(group)
            found.append(group)
    return tuple(found)
