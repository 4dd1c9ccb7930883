"""What of a node's parts is new, was replaced, or is the same; and whether it is another machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.model.part import OtherMachine, Replacement

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterctl.model.part import Part, PartRow


@dataclass(frozen=True, slots=True)
class PartChanges:
    """New places, places with another serial, and parts that are still there.

    Attributes:
        ended: parts of the machine before that are not at their places; empty where it is the same machine.
        other: set where another machine has the name of the node.
    """

    new: tuple[Part, ...]
    replaced: tuple[Replacement, ...]
    same: tuple[Part, ...]
    ended: tuple[Part, ...] = ()
    other: OtherMachine | None = None


def part_changes(node: str, run_id: str, recorded: Iterable[PartRow], found: Iterable[Part]) -> PartChanges:
    """Compare present rows with what a run found. A place that the run did not find stays as it is: `hardware` reports what is missing.

    It is another machine if the system has another serial, or no recorded part is left: then all that is not found has gone with the first.
    """
    before = {(r.part.kind, r.part.slot): r.part for r in recorded if not r.ended_run}
    new: list[Part] = []
    replaced: list[Replacement] = []
    same: list[Part] = []
    for part in found:
        old = before.pop((part.kind, part.slot), None)
        if old is None:
            new.append(part)
        elif old.serial != part.serial:
            replaced.append(Replacement(node, old, part, run_id))
        else:
            same.append(part)
    other = _other_machine(node, run_id, replaced, none_left=not same and bool(replaced or (new and before)))
    return PartChanges(tuple(new), tuple(replaced), tuple(same), tuple(before.values()) if other else (), other)


def _other_machine(node: str, run_id: str, replaced: Iterable[Replacement], *, none_left: bool) -> OtherMachine | None:
    system = next((r for r in replaced if r.after.kind == "system"), None)
    if system:
        return OtherMachine(node, f"system serial {system.before.serial} -> {system.after.serial}", run_id)
    return OtherMachine(node, "none of its recorded parts is left", run_id) if none_left else None
