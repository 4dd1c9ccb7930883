"""Which end of a bad link is at fault: from which devices were fine with which others. Pure, and independent of the order of nodes.

A link is LOW where its figure is beyond its limit: a bandwidth below its floor, a latency above its upper limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from clusterctl.model.gate_reason import GateReason

End = tuple[str, str]
_ENOUGH = 2
# One pair in 30 reads low without a fault of either end; four of five do so once in 250,000 (0.03^4 x 5), three of five once in 4,000.
_MANY = 4
_TWO_OF_THREE = 2 / 3


class LinkState(StrEnum):
    """What a meeting of two devices showed; BROKEN is not a measurement."""

    OK = "ok"
    LOW = "low"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Link:
    """One meeting of two devices, each (node, device): its worst run. `value` and `limit` in the gate's unit.

    Attributes:
        beside: the figure of the same run that is shown and not judged, in the gate's unit; None where the gate has none.
        rule, reason, problem: what is wrong where it is BROKEN: the rule that it breaks, as a code, and for people.
        runs: how many runs it stands for, one for each direction.
        low_clients: the clients of its runs that were low, where all were measured.
        unpinned: the ends that were to be bound to a NUMA node and are not, each with what was done.
        suspect: the end that is measured again, in the second stage, with one that was proven before; None in the first stage.
    """

    one: End
    other: End
    state: LinkState
    value: float = 0.0
    limit: float = 0.0
    source: str = ""
    rule: str = ""
    reason: GateReason | None = None
    problem: str = ""
    runs: int = 1
    low_clients: tuple[End, ...] = ()
    unpinned: tuple[tuple[End, str], ...] = ()
    suspect: End | None = None
    beside: float | None = None

    def far(self, end: End) -> End:
        """The device at the other side of `end`."""
        return self.other if end == self.one else self.one


class Graph:
    """The links of a gate, by device.

    `two_of_three`: a device is at fault where at least two thirds of its measurements fail, two of three, four of five. Otherwise both partners of the
    second stage must.
    """

    def __init__(self, links: Sequence[Link], trusted: Collection[str] = (), *, two_of_three: bool = False) -> None:
        self._links: dict[End, list[Link]] = {}
        self._trusted = frozenset(trusted)
        self.two_of_three = two_of_three
        for link in links:
            self._links.setdefault(link.one, []).append(link)
            self._links.setdefault(link.other, []).append(link)
        self.confirmed, self.cleared = self._measured_again()
        self.slow = self._faulty(LinkState.LOW, {LinkState.OK}, self.confirmed)
        self.dead = self._faulty(LinkState.BROKEN, {LinkState.OK, LinkState.LOW}, frozenset())

    @property
    def ends(self) -> tuple[End, ...]:
        """All devices with a link, in the same order whatever that of the links."""
        return tuple(sorted(self._links))

    def proven(self, end: End) -> bool:
        """Whether a measurement at its floor, or a trusted node, proves a device."""
        return end[0] in self._trusted or bool(self.of(end, LinkState.OK))

    def without(self, explained: Collection[frozenset[End]]) -> Graph:
        """The same without low links that something between their ends explains: they are not evidence about either."""
        links = [link for end in self.ends for link in self.of(end) if link.one == end]
        left = [link for link in links if link.state is not LinkState.LOW or frozenset((link.one, link.other)) not in explained]
        return Graph(left, self._trusted, two_of_three=self.two_of_three)

    def suspects(self) -> tuple[End, ...]:
        """Devices to be measured again: without a proof, or low with most of their partners, proven ones, or with a run lost that nobody explains.

        A device that never ran with anybody is none: its own records come first.
        """
        return tuple(end for end in self.ends if end[0] not in self._trusted and end not in self.dead and self._is_suspect(end))

    def _is_suspect(self, end: End) -> bool:
        return not self.proven(end) or self.low_with_most(end) or bool(self.unexplained(end, LinkState.BROKEN))

    def low_with_most(self, end: End) -> bool:
        """Whether a device is low with at least two proven partners, which are more than half of all it was measured with."""
        low = {link.far(end) for link in self.of(end, LinkState.LOW) if self.proven(link.far(end)) and link.far(end) not in self.cleared}
        return len(low) >= _ENOUGH and len(low) > len(self.of(end, LinkState.OK, LinkState.LOW)) / 2

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

    def _measured_again(self) -> tuple[frozenset[End], frozenset[End]]:
        """The devices that were low with two partners of the second stage, and those that were fine with one."""
        again: dict[End, list[Link]] = {}
        for link in (link for links in self._links.values() for link in links if link.suspect and link.state is not LinkState.BROKEN):
            again.setdefault(link.suspect or link.one, []).append(link)
        cleared = {end for end, links in again.items() if any(link.state is LinkState.OK for link in links)}
        low = {end for end, links in again.items() if len({link.far(end) for link in links}) >= _ENOUGH} - cleared
        return self._by_share(again, low) if self.two_of_three else (frozenset(low), frozenset(cleared))

    def _by_share(self, again: Collection[End], twice: Collection[End]) -> tuple[frozenset[End], frozenset[End]]:
        """By all that a device was measured with, but for what is low with both its partners of the second stage and explains the meeting."""
        confirmed: set[End] = set()
        cleared: set[End] = set()
        for end in again:
            measured = [link for link in self.of(end, LinkState.OK, LinkState.LOW) if link.far(end) not in twice]
            low = sum(link.state is LinkState.LOW for link in measured)
            if low >= _ENOUGH and low / len(measured) >= _TWO_OF_THREE:
                confirmed.add(end)
            elif len(measured) - low >= _ENOUGH:
                cleared.add(end)
        return frozenset(confirmed), frozenset(cleared)

    def _faulty(self, bad: LinkState, good: set[LinkState], known: frozenset[End]) -> frozenset[End]:
        faulty: set[End] = set(known)
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
        """A device is at fault where it is bad with all its partners, or with four at least, which are most of them, and worse off than each of those.

        Either takes a partner that is known to be good: one that was fine with somebody else, or a trusted node, with which one meeting is enough unless two
        of three decide. What the second stage confirmed is at fault before that.
        """
        if end[0] in self._trusted:
            return False
        partners = [link.far(end) for link in self.of(end, bad) if link.far(end) not in faulty]
        if any(p[0] in self._trusted for p in partners) and share[end] == 1 and not self.two_of_three:
            return True
        if not any(self._good_with_another(p, end, good) for p in partners):
            return False
        if share[end] == 1:
            return len(self.of(end, bad)) >= _ENOUGH
        most = share[end] >= _TWO_OF_THREE if self.two_of_three else share[end] > 0.5  # noqa: PLR2004 most
        return len(partners) >= _MANY and most and all(share[end] > share[p] for p in partners)

    def _good_with_another(self, end: End, but: End, good: set[LinkState]) -> bool:
        return end[0] in self._trusted or any(link.far(end) != but for link in self.of(end, *good))
