"""Base class and helpers of the repositories."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from sqlalchemy import Engine

# SQLite allows 32,766 bound values in a statement, so long lists of names are split.
SLICE = 10_000


class Repository:
    """One topic of the store. Each method is a short transaction."""

    def __init__(self, engine: Engine, clock: Callable[[], str]) -> None:
        self._engine = engine
        self._clock = clock
        # what this process declares its nodes to be: others may read another checkout of the inventory meanwhile
        self._declared: dict[str, str] = {}


def slices(names: Iterable[str]) -> Iterator[Sequence[str]]:
    """Sorted names without duplicates, in slices that fit into a statement. The order prevents deadlocks between writers."""
    ordered = sorted(set(names))
    return (ordered[i : i + SLICE] for i in range(0, len(ordered), SLICE))


def storable_text(text: str) -> str:
    """Text that a database accepts: NUL and invalid UTF-8 in the output of a node become visible escapes."""
    if text.isprintable():  # nearly always; NUL and lone surrogates are not printable
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\x00", "\\x00")
