"""The parts of a node as documents show them: the present ones, each with those that were at its place before. Pure."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from clusterctl.model.documents import FormerPart, RecordedPart

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterctl.model.part import PartRow


def recorded_parts(rows: Iterable[PartRow]) -> tuple[RecordedPart, ...]:
    """Rows of one node, in the order of the store."""
    parts = []
    for _, at_place in groupby(rows, key=place_of):
        history = list(at_place)
        before = tuple(FormerPart(r.part.serial, r.first_run, r.ended_run) for r in history if r.ended_run)
        for now in (r for r in history if not r.ended_run):
            part = now.part
            seen = (now.first_run, now.first_seen, now.last_seen)
            parts.append(RecordedPart(part.kind, part.slot, part.name, part.model, part.serial, *seen, before))
    return tuple(parts)


def place_of(row: PartRow) -> tuple[str, str, str]:
    """Where a part is."""
    return row.node, row.part.kind, row.part.slot
