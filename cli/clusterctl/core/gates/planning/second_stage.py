"""Whom a suspect is measured with again: two proven partners, one suspect at a time on a partner and, as far as possible, on a leaf's uplinks. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

_TRIES = 2
# Partners to choose from, inside the leaf and across: more than are busy in a round wherever suspects are few.
_CANDIDATES = 256


@dataclass(frozen=True, slots=True)
class Retest:
    """A meeting of the second stage: `suspect` and `partner` are nodes, `rails` those on which the suspect has no proof and the partner has one."""

    suspect: str
    partner: str
    rails: tuple[int, ...]


@dataclass(slots=True)
class _Round:
    """One round: who is busy, and how many meetings cross the uplinks of a leaf."""

    meetings: list[Retest] = field(default_factory=list)
    busy: set[str] = field(default_factory=set)
    crossings: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class SecondStage:
    """What the first stage left open.

    Attributes:
        suspects: node -> its rails without a proof; `proven`: node -> its rails with one.
        leaves: node -> its leaf; met: pairs of nodes that were measured together already.
    """

    suspects: Mapping[str, Collection[int]]
    proven: Mapping[str, Collection[int]]
    leaves: Mapping[str, str]
    met: Collection[frozenset[str]] = ()

    def rounds(self, seed: str) -> tuple[tuple[Retest, ...], ...]:
        """Each suspect with two different proven partners, or one where there is no second; none for a suspect without a proven partner.

        The first try stays inside the leaf, where no uplink is shared; the second changes leaf, and the crossings of a leaf are spread over two rounds. So
        three rounds are enough where there are more proven partners than suspects.
        """
        random = Random(seed)  # noqa: S311 a plan that can be repeated, no secret
        found: list[_Round] = []
        known: dict[tuple[str, tuple[int, ...]], set[str]] = {}
        for number in range(_TRIES):
            for suspect, rails in self._jobs():
                had = known.setdefault((suspect, rails), set())
                chosen = self._place(suspect, self._partners(suspect, rails, had, random), found, across=number > 0)
                if chosen:
                    had.add(chosen[1])
                    chosen[0].meetings.append(Retest(suspect, chosen[1], rails))
        return tuple(tuple(r.meetings) for r in found if r.meetings)

    def _partners(self, suspect: str, rails: tuple[int, ...], had: Collection[str], random: Random) -> list[str]:
        """Those of its leaf and some of others, which are many in a large fleet."""
        partners = [p for p in sorted(self.proven) if p not in had and p != suspect and set(rails) <= set(self.proven[p])]
        random.shuffle(partners)
        own = [p for p in partners if self.leaves.get(p, "") == self.leaves.get(suspect, "")]
        return own[:_CANDIDATES] + [p for p in partners if p not in own][:_CANDIDATES]

    def _jobs(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """The rails of a suspect together, or one by one where nobody is proven on all of them."""
        for suspect in sorted(self.suspects):
            rails = tuple(sorted(self.suspects[suspect]))
            together = any(set(rails) <= set(own) for name, own in self.proven.items() if name != suspect)
            yield from [(suspect, rails)] if together else [(suspect, (rail,)) for rail in rails]

    def _place(self, suspect: str, partners: list[str], found: list[_Round], *, across: bool) -> tuple[_Round, str] | None:
        """Take a round in which a partner is free: of the desired side of the leaf first, then where uplinks are least used, then one not met before."""
        if not partners:
            return None
        leaf = self.leaves.get(suspect, "")
        found += [_Round() for _ in range(_TRIES + 1 - len(found))]

        def cost(place: tuple[int, str]) -> tuple[object, ...]:
            number, partner = place
            used, other = found[number].crossings, self.leaves.get(partner, "")
            shared = (max(used[leaf], used[other]), used[leaf] + used[other]) if other != leaf else (0, 0)
            return ((other != leaf) != across, shared, frozenset((suspect, partner)) in self.met, number)

        open_to_it = [number for number, one in enumerate(found) if suspect not in one.busy]
        places = [(number, p) for number in open_to_it for p in partners if p not in found[number].busy]
        if not places:
            found.append(_Round())
            return self._taken(found[-1], suspect, partners[0])
        number, partner = min(places, key=cost)
        return self._taken(found[number], suspect, partner)

    def _taken(self, one: _Round, suspect: str, partner: str) -> tuple[_Round, str]:
        leaf, other = self.leaves.get(suspect, ""), self.leaves.get(partner, "")
        one.busy |= {suspect, partner}
        one.crossings.update({leaf, other} if leaf != other else ())
        return one, partner
