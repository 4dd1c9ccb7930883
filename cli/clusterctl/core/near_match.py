"""Near misses of a mistyped word."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_CUTOFF = 0.6
_MARGIN = 0.05
# `hugepage_pages` and `hugepages_pages` score 0.97, `waviers` and `waivers` 0.857; another word, `driver_version` and `nvidia_driver_version`, 0.8
_MISSPELT = 0.85
_SHORTEST = 4
_DIGITS = re.compile(r"\d+")


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


def misspelling_of(word: str, known: Iterable[str]) -> str:
    """The one of `known` that `word` is a misspelling of, or an empty string.

    Much stricter than `near_matches`, because `word` may be right: a name of three letters is close to too many words, and a name that
    differs in its digits only (`rack1`) is meant to differ.
    """
    form = _form(word)
    close = difflib.get_close_matches(form, [k for k in known if len(k) >= _SHORTEST], n=1, cutoff=_MISSPELT)
    if not close or (form != close[0] and _DIGITS.sub("", form) == _DIGITS.sub("", close[0])):
        return ""
    return close[0]


def _form(name: str) -> str:
    return name.lower().replace("-", "_")


def _likeness(a: str, b: str) -> float:
    return difflib.SequenceMatcher(None, b, a).ratio()
