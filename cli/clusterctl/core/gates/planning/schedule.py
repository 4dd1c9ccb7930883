"""Which nodes meet in which round: a round-robin tournament by the circle method. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")


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
