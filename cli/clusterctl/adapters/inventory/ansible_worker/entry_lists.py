"""Waivers, observed checks and owners of hosts: read once per value, sent once per distinct list. A profile gives the same list to all of its nodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Entries = list[dict[str, str]]
    Problems = list[tuple[tuple[int, ...], str]] | list[tuple[tuple[str, ...], str]]


@dataclass(slots=True)
class EntryLists:
    """The distinct lists of a resolution, each known by its number.

    Attributes:
        distinct: number -> list.
    """

    distinct: list[Entries] = field(default_factory=list)
    _numbers: dict[tuple[tuple[tuple[str, str], ...], ...], int] = field(default_factory=dict)
    _read: dict[tuple[str, int], tuple[object, int, Problems]] = field(default_factory=dict)

    def number(self, name: str, value: Any, read: Callable[[Any], tuple[Entries, Problems]]) -> tuple[int, Problems]:
        """The number of the list that `read` finds in the value of a variable, and what is wrong with that; the value must not change any more."""
        if (name, id(value)) not in self._read:
            entries, problems = read(value)
            number = self._numbers.setdefault(tuple(tuple(entry.items()) for entry in entries), len(self.distinct))
            self.distinct += [entries] if number == len(self.distinct) else []
            # the value is kept, so that no other one gets its id
            self._read[name, id(value)] = (value, number, problems)
        _, number, problems = self._read[name, id(value)]
        return number, problems
