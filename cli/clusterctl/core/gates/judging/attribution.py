"""Which end of a bad link is at fault: from which devices were fine with which others. Pure, and independent of the order of nodes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from clusterctl.model.gate_reason import GateReason

End = tuple[str, str]
_ENOUGH = 2


class LinkState(StrEnum):
    """What a meeting of two devices showed; BROKEN is no measurement."""

    OK = "ok"
    LOW = "low"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Link:
    """One meeting of two devices, each (node, device): its lowest run. `value` and `floor` in the gate's unit.

    Attributes:
        rule, reason, problem: what is wrong where it is BROKEN: the rule that it breaks, as a code, and for people.
        runs: how many runs it stands for, one for each direction.
        low_clients: the clients of its runs that were low, where all were measured.
        unpinned: the ends that were to be bound to a NUMA node and are not, each with what was done.
    """

    one: End
    other: End
    state: LinkState
    value: float = 0.0
    floor: float = 0.0
    source: str = ""
    rule: str = ""
    reason: GateReason | None = None
    problem: str = ""
    runs: int = 1
    low_clients: tuple[End, ...] = ()
    unpinned: tuple[tuple[End, str], ...] = ()

    def far(self, end: End) -> End:
        """The device at the other side of `end`."""
        return self.other if end == self.one else self.one


class Graph:
    """The links of a gate, by device."""

    def __init__(self, links: Sequence[Link], trusted: Collection[str] = ()) -> None:
        self._links: dict[End, list[Link]] = {}
        self._trusted = frozenset(trusted)
        for link in links:
            self._links.setdefault(link.one, []).append(link)
            self._links.setdefault(link.other, []).append(link)
        self.slow = self._faulty(LinkState.LOW, {LinkState.OK})
        self.dead = self._faulty(LinkState.BROKEN, {LinkState.OK, LinkState.LOW})

    def of(self, end: End, *states: LinkState) -> tuple[Link, ...]:
        """The links of a device, all or those in some states."""
        return tuple(link for link in self._links.get(end, ()) if not states or link.state in states)

    def unexplained(self, end: End, state: LinkState) -> tuple[Link, ...]:
        """Links in a bad state whose other end is not the one at fault."""
        faulty = self.slow if state is LinkState.LOW else self.dead
        found = [link for link in self.of(end, state) if link.far(end) not in faulty]
        if state is LinkState.BROKEN:  # a device that never ran with anybody explains its own broken links
            found = [link for link in found if self.of(link.far(end), LinkState.OK, LinkState.LOW)]
        return tuple(found)

    def fine_elsewhere(self, end: End, but: End) -> bool:
        """Whether a device is trusted, or was fine with another one than `but`."""
        return end[0] in self._trusted or any(link.far(end) != but for link in self.of(end, LinkState.OK))

    def _faulty(self, bad: LinkState, good: set[LinkState]) -> frozenset[End]:
        faulty: set[End] = set()
        while True:
            share = {end: self._share(end, bad, good, faulty) for end in self._links}
            new = {end for end in self._links if end not in faulty and self._is_faulty(end, bad, good, faulty, share)}
            if not new:
                return frozenset(faulty)
            faulty |= new

    def _share(self, end: End, bad: LinkState, good: set[LinkState], faulty: set[End]) -> float:
        lows = [link for link in self.of(end, bad) if link.far(end) not in faulty]
        total = len(lows) + len(self.of(end, *good))
        return len(lows) / total if total else 0.0

    def _is_faulty(self, end: End, bad: LinkState, good: set[LinkState], faulty: set[End], share: dict[End, float]) -> bool:
        """A device is at fault where it is bad with all its partners, or with most of them and worse off than each of those.

        Either takes a partner that is known to be good: one that was fine with somebody else, or a trusted node.
        """
        if end[0] in self._trusted:
            return False
        partners = [link.far(end) for link in self.of(end, bad) if link.far(end) not in faulty]
        if any(p[0] in self._trusted for p in partners) and share[end] == 1:
            return True
        if not any(self._good_with_another(p, end, good) for p in partners):
            return False
        if share[end] == 1:
            return len(self.of(end, bad)) >= _ENOUGH
        return len(partners) >= _ENOUGH and share[end] > 0.5 and all(share[end] > share[p] for p in partners)  # noqa: PLR2004 most

    def _good_with_another(self, end: End, but: End, good: set[LinkState]) -> bool:
        return end[0] in self._trusted or any(link.far(end) != but for link in self.of(end, *good))
