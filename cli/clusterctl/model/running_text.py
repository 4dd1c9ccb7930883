"""Lists of names, counts and durations in running text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_LISTED = 8
_FIRST = 4
_MINUTE_S = 60
_HOUR_S = 3600


def fold_names(names: Sequence[str]) -> str:
    """Up to eight names as a list; of more, how many there are with the first four."""
    return ", ".join(names) if len(names) <= _LISTED else f"{len(names)} nodes ({', '.join(names[:_FIRST])}, ...)"


def first_of(names: Sequence[str], shown: int = _FIRST) -> str:
    """`a, b, c, d and 3 more`."""
    return ", ".join(names[:shown]) + (f" and {len(names) - shown} more" if len(names) > shown else "")


def counted(number: int, noun: str) -> str:
    """`1 node`, `6 nodes`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def duration_text(seconds: float) -> str:
    """`12 s`, `3 min 07 s`, `1 h 02 min`."""
    whole = int(seconds)
    if whole < _MINUTE_S:
        return f"{whole} s"
    if whole < _HOUR_S:
        return f"{whole // _MINUTE_S} min {whole % _MINUTE_S:02d} s"
    return f"{whole // _HOUR_S} h {whole % _HOUR_S // _MINUTE_S:02d} min"
