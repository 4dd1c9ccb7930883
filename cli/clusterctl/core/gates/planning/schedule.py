"""Which nodes meet in which round: random matchings, or a round-robin tournament of all. Pure."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")
_Pairs = list[tuple[int, int]]
# A draw can end where no exchange of two partners helps; that this many do has not been seen for up to half as many rounds as players.
_DRAWS = 50


def tournament(players: Sequence[T]) -> tuple[tuple[tuple[T, T], ...], ...]:
    """Rounds of disjoint pairs in which every player meets every other exactly once.

    n players need n-1 rounds, or n rounds when n is odd (each player then rests once). The first of a pair is the server of its first turn.
    """
    circle = list(range(len(players) + len(players) % 2))
    half = len(circle) // 2
    rounds = []
    for _ in range(len(circle) - 1):
        meetings = [(min(p), max(p)) for p in zip(circle[:half], reversed(circle[half:]), strict=True)]
        sides = [(one, other) if (one + other) % 2 else (other, one) for one, other in meetings if other < len(players)]
        rounds.append(tuple((players[server], players[client]) for server, client in sides))
        circle = [circle[0], circle[-1], *circle[1:-1]]
    return tuple(r for r in rounds if r)


def number_of_rounds(players: int, rounds: int) -> int:
    """How many rounds `matchings` has for a number of players and of requested rounds; 0 = all."""
    everybody = players - 1 + players % 2 if players > 1 else 0
    return min(rounds or everybody, everybody)


def everybody_meets(players: int, rounds: int) -> bool:
    """Whether the rounds are enough for all pairs; 0 rounds = all."""
    return number_of_rounds(players, rounds) == number_of_rounds(players, 0)


def matchings(players: Sequence[T], leaf_of: Callable[[T], str], rounds: int, seed: str) -> tuple[tuple[tuple[T, T], ...], ...]:
    """`rounds` rounds of disjoint pairs: one inside leaves, the others across leaves as far as there are any; everybody meets, if 0 or that few.

    Of those across, every second has a leaf meet one or two others, whose path many pairs then use, and every other one all of them, which separates the uplinks
    of a leaf from those of the leaves it met.
    The same players, leaves and seed give the same pairs. Nobody meets the same player twice where that can be avoided, and with an odd number a
    different player rests in each round.
    """
    if everybody_meets(len(players), rounds):
        return tournament(players)
    draw = _Draw([leaf_of(p) for p in players], seed)
    if rounds * 2 > len(players):
        return tuple(draw.random.sample(tournament(draw.random.sample(players, len(players))), rounds))
    return tuple(tuple((players[a], players[b]) for a, b in draw.round(number)) for number in range(rounds))


class _Draw:
    """Random matchings of players 0 to n-1, one after the other."""

    def __init__(self, leaves: Sequence[str], seed: str) -> None:
        self.leaves = leaves
        self.random = Random(seed)  # noqa: S311 a schedule that can be repeated, no secret
        self.met: set[frozenset[int]] = set()
        self.rested: set[int] = set()

    def round(self, number: int) -> _Pairs:
        inside, mixed = number == 0, number > 0 and number % 2 == 0
        players = self._without_one(list(range(len(self.leaves))))
        pairs: _Pairs = []
        for _ in range(_DRAWS):
            pairs = self._inside(players) if inside else self._across(players, mixed=mixed)
            self._part_the_acquainted(pairs, self._suits_inside if inside else self._suits_across)
            self._part_the_acquainted(pairs, lambda _: True)
            if not any(self._have_met(pair) for pair in pairs):
                break
        self.met |= {frozenset(pair) for pair in pairs}
        return [pair if self.random.random() < 1 / 2 else pair[::-1] for pair in pairs]

    def _without_one(self, players: list[int]) -> list[int]:
        if len(players) % 2:
            resting = self.random.choice([p for p in players if p not in self.rested] or players)
            self.rested.add(resting)
            players.remove(resting)
        return players

    def _inside(self, players: list[int]) -> _Pairs:
        """Pairs of each leaf; whoever is left over in its leaf meets somebody of another."""
        self.random.shuffle(players)
        leaves: dict[str, list[int]] = {}
        for player in players:
            leaves.setdefault(self.leaves[player], []).append(player)
        left = [own.pop() for own in leaves.values() if len(own) % 2]
        return [(a, b) for own in (*leaves.values(), left) for a, b in zip(own[::2], own[1::2], strict=True)]

    def _across(self, players: list[int], *, mixed: bool) -> _Pairs:
        """By leaf, each with the one half of all further: of another leaf, unless a leaf holds more than half of them.

        `mixed`: each with any of the other half, as far as that one is of another leaf.
        """
        names = sorted(set(self.leaves))
        self.random.shuffle(names)
        order = {name: i for i, name in enumerate(names)}
        self.random.shuffle(players)
        players.sort(key=lambda p: order[self.leaves[p]])
        half = len(players) // 2
        pairs = list(zip(players[:half], players[half:], strict=True))
        for i in range(half if mixed else 0):
            (a, b), j = pairs[i], self.random.randrange(half)
            c, d = pairs[j]
            if self._suits_across((a, d)) and self._suits_across((c, b)):
                pairs[i], pairs[j] = (a, d), (c, b)
        return pairs

    def _part_the_acquainted(self, pairs: _Pairs, suits: Callable[[tuple[int, int]], bool]) -> None:
        """Exchange partners where two have met before, as far as the new pairs have not met either and suit."""
        for i, (a, b) in enumerate(pairs):
            if not self._have_met((a, b)):
                continue
            for j in self.random.sample(range(len(pairs)), len(pairs)):
                c, d = pairs[j]
                new = (
                    []
                    if j == i
                    else [p for p in (((a, d), (c, b)), ((a, c), (b, d))) if all(suits(q) and not self._have_met(q) for q in p)]
                )
                if new:
                    pairs[i], pairs[j] = new[0]
                    break

    def _have_met(self, pair: tuple[int, int]) -> bool:
        return frozenset(pair) in self.met

    def _suits_inside(self, pair: tuple[int, int]) -> bool:
        return self.leaves[pair[0]] == self.leaves[pair[1]]

    def _suits_across(self, pair: tuple[int, int]) -> bool:
        return not self._suits_inside(pair)
