"""Near misses of a mistyped word."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_CUTOFF = 0.6
_MARGIN = 0.05


def near_matches(word: str, known: Iterable[str], limit: int = 3) -> tuple[str, ...]:
    """Up to `limit` of `known` that are spelled like `word`, best first, and none much worse than the best; `-` and `_` and case count as equal."""
    by_form: dict[str, str] = {}
    for name in known:
        by_form.setdefault(_form(name), name)
    form = _form(word)
    close = difflib.get_close_matches(form, by_form, n=limit, cutoff=_CUTOFF)
    best = _likeness(form, close[0]) if close else 0.0
    return tuple(by_form[f] for f in close if _likeness(form, f) >= best - _MARGIN)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'x' or 'y'?`, or nothing."""
    found = near_matches(word, known)
    return f"; did you mean {' or '.join(repr(str(n)) for n in found)}?" if found else ""


def _form(name: str) -> str:
    return name.lower().replace("-", "_")


def _likeness(a: str, b: str) -> float:
    return difflib.SequenceMatcher(None, b, a).ratio()
