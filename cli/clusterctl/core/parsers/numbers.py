"""Numbers in tool output, read without surprises."""

from __future__ import annotations

import json
import math
import re
from typing import Any

_NUMBER = re.compile(r"[+-]?(\d{1,20}(\.\d{0,30})?|\.\d{1,30})([eE][+-]?\d{1,3})?$", re.ASCII)
_LONGEST = 24
_TOO_LARGE = 1 << 63


def number(word: object) -> float | None:
    """A finite number, or None for anything else (`N/A`, `inf`, text)."""
    if isinstance(word, bool):
        return None
    if isinstance(word, int | float):
        try:
            value = float(word)
        except OverflowError:
            return None
    elif isinstance(word, str) and _NUMBER.match(word):
        value = float(word)
    else:
        return None
    return value if math.isfinite(value) else None


def whole(word: object) -> int | None:
    """A non-negative whole number, or None."""
    if isinstance(word, int) and not isinstance(word, bool):
        return word if word >= 0 else None
    if isinstance(word, str) and word.isascii() and word.isdigit() and len(word) <= _LONGEST:
        return int(word)
    return None


def bytes_of_message(word: str) -> int | None:
    """A size, or None; none is larger than a database can hold."""
    size = whole(word)
    return size if size is not None and size < _TOO_LARGE else None


def first_json(text: str) -> Any:
    """The first JSON object in a text that may have other lines around it.

    Raises:
        ValueError: there is none, or it is cut off.
    """
    start = re.search(r"^[ \t]*\{", text, re.MULTILINE)
    if start is None:
        raise ValueError("no JSON in it")
    try:
        data, _ = json.JSONDecoder().raw_decode(text, start.end() - 1)
    except RecursionError as e:
        raise ValueError("nested too deeply") from e
    return data
