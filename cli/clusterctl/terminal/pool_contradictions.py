"""What record and pool contradict each other in, as notes on stderr."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.core.pool_contradictions import returned_by_others, taken_out_by_others
from clusterctl.model.running_text import fold_names
from clusterctl.terminal import messages

if TYPE_CHECKING:
    from clusterctl.model.overview import Overview


def note_contradictions(found: Overview) -> None:
    """A line for the nodes that are out in the record only, and one for those that are admitted in the record only."""
    if returned := returned_by_others(found):
        names = fold_names([f"{n.name} ({n.state.value})" for n in returned])
        messages.note(f"out in the record, and jobs may start there: {names}; `clusterctl drain NODE --to STATE` takes one out again")
    if taken := taken_out_by_others(found):
        names = fold_names([n.name for n in taken])
        messages.note(f"admitted in the record, and the pool starts no job there: {names}; the scheduler shows who took it out")
