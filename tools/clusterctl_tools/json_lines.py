"""Output that has one JSON object per line, as the programs of the role burnin print it."""

import json
from typing import Any, Dict, List


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


def text_in(values: Dict[str, Any], name: str) -> str:
    """The text of this name in an object.

    Raises:
        ValueError: there is none.
    """
    value = values.get(name)
    if not isinstance(value, str):
        raise ValueError("its {} is {!r}".format(name, value))  # noqa: TRY004 one kind of error for all bad output
    return value


def list_in(values: Dict[str, Any], name: str) -> List[Any]:
    """The list of this name in an object.

    Raises:
        ValueError: there is none.
    """
    value = values.get(name)
    if not isinstance(value, list):
        raise ValueError("its {} is {!r}".format(name, value))  # noqa: TRY004 one kind of error for all bad output
    return value
