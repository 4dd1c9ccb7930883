"""Output that has one JSON object per line, as the programs of the role burnin print it."""

import json
from typing import Any, Dict


def object_in(line: str) -> Dict[str, Any]:
    """The object in a line.

    Raises:
        ValueError: the line is cut off, or has another value.
    """
    try:
        values = json.loads(line)
    except (ValueError, RecursionError) as e:
        raise ValueError("a line of it is cut off: {!r}".format(line[:80])) from e
    if not isinstance(values, dict):
        raise ValueError("a line of it is not an object: {!r}".format(line[:80]))  # noqa: TRY004 one kind of error for all bad output
    return values
