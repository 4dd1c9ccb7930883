"""Who meets whom in which round: a round-robin tournament by the circle method. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")


def tournament(players: Sequence[T]) -> tuple[tuple[tuple[T, T], ...], ...]:
    """Rounds of disjoint pairs in which everybody meets everybody exactly once.

    n players need n-1 rounds, or n rounds when n is odd (each player then rests once). The first of a pair is the server;
    the sides change from round to round, so that each direction of a link is used.
    """
    circle: list[T | None] = [*players]
    if len(circle) % 2:
        circle.append(None)
    half = len(circle) // 2
    rounds = []
    for number in range(len(circle) - 1):
        pairs: list[tuple[T, T]] = []
        for left, right in zip(circle[:half], reversed(circle[half:]), strict=True):
            if left is not None and right is not None:
                pairs.append((left, right) if number % 2 == 0 else (right, left))
        rounds.append(tuple(pairs))
        circle = [circle[0], circle[-1], *circle[1:-1]]
    return tuple(r for r in rounds if r)
