"""What of a node's parts is new, was replaced, or is the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.model.part import Replacement

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterctl.model.part import Part, PartRow


@dataclass(frozen=True, slots=True)
class PartChanges:
    """New places, places with another serial, and parts that are still there."""

    new: tuple[Part, ...]
    replaced: tuple[Replacement, ...]
    same: tuple[Part, ...]


def part_changes(node: str, run_id: str, recorded: Iterable[PartRow], found: Iterable[Part]) -> PartChanges:
    """Compare present rows with what a run found. A place that the run did not find stays as it is: `hardware` says what is missing."""
    before = {(r.part.kind, r.part.slot): r.part for r in recorded if not r.ended_run}
    new: list[Part] = []
    replaced: list[Replacement] = []
    same: list[Part] = []
    for part in found:
        old = before.get((part.kind, part.slot))
        if old is None:
            new.append(part)
        elif old.serial != part.serial:
            replaced.append(Replacement(node, old, part, run_id))
        else:
            same.append(part)
    return PartChanges(tuple(new), tuple(replaced), tuple(same))
