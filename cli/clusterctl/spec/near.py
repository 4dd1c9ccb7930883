"""What somebody probably meant."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def near_matches(word: str, known: Iterable[str], limit: int = 3) -> tuple[str, ...]:
    """Up to `limit` of `known` that are spelt like `word`, best first; `-` and `_` and case count as equal."""
    by_form: dict[str, str] = {}
    for name in known:
        by_form.setdefault(_form(name), name)
    return tuple(by_form[f] for f in difflib.get_close_matches(_form(word), by_form, n=limit, cutoff=0.6))


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'x' or 'y'?`, or nothing."""
    found = near_matches(word, known)
    return f"; did you mean {' or '.join(repr(str(n)) for n in found)}?" if found else ""


def _form(name: str) -> str:
    return name.lower().replace("-", "_")
