"""Output that has one JSON object per line, as the programs of the role burnin print it."""

import json
from typing import Any, Dict, List

# those of 2**64
_MOST_DIGITS = 20


def object_in(line: str) -> Dict[str, Any]:
    """The object in a line.

    Raises:
        ValueError: the line is cut off, has another value, or a number of more than 64 bits.
    """
    try:
        values = json.loads(line, parse_int=_whole)
    except (ValueError, RecursionError) as e:
        raise ValueError("a line of it is cut off: {!r}".format(line[:80])) from e
    if not isinstance(values, dict):
        raise ValueError("a line of it is not an object: {!r}".format(line[:80]))  # noqa: TRY004 one kind of error for all bad output
    return values


def _whole(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError("a number of {} digits".format(len(digits)))
    return int(digits)


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
