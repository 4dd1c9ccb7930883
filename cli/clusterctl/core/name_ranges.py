"""Ranges of names, as schedulers and the report write them: `r12-n[01-18,20]`. Pure."""

from __future__ import annotations

import re
from itertools import product
from math import prod

from clusterctl.model.errors import NameRangeError

_RANGE = re.compile(r"\[(?=[^\]]*[-,])(\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*)\]")
_OUTSIDE = r"(?![^\[\]]*\])"
_COMMA = re.compile("," + _OUTSIDE)
_COMMA_OR_COLON = re.compile("[,:]" + _OUTSIDE)
# Slurm, too, takes no more of one expression (MAX_RANGE).
_MOST = 65_536


def split_words(target: str, *, colons: bool = False) -> tuple[str, ...]:
    """The words between commas, and between colons if requested, that are not in brackets; without blanks around them."""
    return tuple(w.strip() for w in (_COMMA_OR_COLON if colons else _COMMA).split(target) if w.strip())


def expand(word: str) -> tuple[str, ...]:
    """The names that a word stands for, each with the sign (`!`, `&`) of the word; a word without a range stands for itself.

    Raises:
        NameRangeError: a range goes backwards, or there are too many names.
    """
    if word.lstrip("!&").startswith("~"):  # a regular expression has its own brackets
        return (word,)
    pieces = _RANGE.split(word)  # what is around ranges, and at odd places the ranges
    if len(pieces) == 1:
        return (word,)
    spans = [[_span(s, word) for s in piece.split(",")] for piece in pieces[1::2]]
    if prod(sum(last - first + 1 for first, last, _ in some) for some in spans) > _MOST:
        raise NameRangeError(word=word, detail=f"stands for more than {_MOST} names")
    numbers = [[f"{n:0{width}}" for first, last, width in some for n in range(first, last + 1)] for some in spans]
    return tuple("".join(map("".join, zip(pieces[::2], (*chosen, ""), strict=True))) for chosen in product(*numbers))


def _span(text: str, word: str) -> tuple[int, int, int]:
    """First and last number, and how many digits each has at least."""
    first, _, last = text.partition("-")
    try:
        found = int(first), int(last or first), len(first)
    except ValueError as e:  # thousands of digits
        raise NameRangeError(word=word, detail=f"stands for more than {_MOST} names") from e
    if found[1] < found[0]:
        raise NameRangeError(word=word, detail=f"goes backwards: {text}")
    return found
