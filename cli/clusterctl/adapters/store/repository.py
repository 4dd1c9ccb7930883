"""What the repositories of every topic share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from sqlalchemy import Engine

# SQLite allows 32,766 bound values in a statement; long lists of names go in slices.
SLICE = 10_000


class Repository:
    """A topic of the store. Methods are small transactions of their own."""

    def __init__(self, engine: Engine, clock: Callable[[], str]) -> None:
        self._engine = engine
        self._clock = clock


def slices(names: Iterable[str]) -> Iterator[Sequence[str]]:
    """Names in order, without repeats, in slices that fit a statement. The order keeps two writers from a deadlock."""
    ordered = sorted(set(names))
    return (ordered[i : i + SLICE] for i in range(0, len(ordered), SLICE))


def storable_text(text: str) -> str:
    """Text a database can hold: what a node printed may contain NUL or broken UTF-8; both become visible escapes."""
    if text.isprintable():  # nearly always, and neither NUL nor half a character is printable
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\x00", "\\x00")
