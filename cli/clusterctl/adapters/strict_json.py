"""JSON from nodes and files that others can write: whatever is wrong with it is a ValueError, so that it never ends a run."""

from __future__ import annotations

import json
from typing import Any, NoReturn


def parse_json(text: str) -> Any:
    """The document in `text`.

    Raises:
        ValueError: it is not JSON, is nested too deeply, or holds NaN or infinity, which no JSON document may hold.
    """
    try:
        return json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except RecursionError as e:
        raise ValueError("nested too deeply") from e


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number of JSON")


def _finite(word: str) -> float:
    value = float(word)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{word[:40]} is too large")
    return value
