"""The output of one node of a group that trains together, or why it is not evidence; and which ranks the others waited for. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from clusterctl.core.gates.judging.reading import not_run, read_record
from clusterctl.core.parsers import UnparsableError
from clusterctl.core.parsers.training_proxy import read_training_run
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome
from clusterctl_tools.training_proxy import PHASES, RESUMED, read_run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.core.gates.gate import Gate
    from clusterctl.model.gate_result import RawRecord
    from clusterctl_tools.training_proxy import NodePart, RankPlace, TrainingRun


def ranks_output(gate: Gate[Any], record: RawRecord | None, part: NodePart, *, steps: int, kill_rank: bool) -> TrainingRun | GateResult:
    """The whole output of a node that was to have a part in the training, or its result without one."""
    if record is None:
        return GateResult(gate.name, "", Outcome.COULD_NOT_RUN, "complete", detail="no record came back", reason=GateReason.NO_RECORD)
    try:
        run = read_training_run(record.stdout)
    except UnparsableError:
        run = None
    if run is None or record.error or record.exit_status != 0:
        return not_run(gate, record, read_record(gate, record))
    blank = GateResult(gate.name, record.node, Outcome.COULD_NOT_RUN, "complete", simulated=record.simulated)
    if (run.part, run.steps) != (part, steps):
        return replace(
            blank, reason=GateReason.WRONG_RUN, detail=f"it trained {run.steps} steps as {run.part}, planned were {steps} as {part}"
        )
    if kill_rank and len(run.of(RESUMED)) != part.ranks:
        return replace(blank, reason=GateReason.INCOMPLETE, detail="its output has no result of the training after the checkpoint")
    return run


def read_partial_training(record: RawRecord | None) -> TrainingRun | None:
    """What came back of an output; None where it is another one."""
    try:
        return read_run(record.stdout) if record else None
    except ValueError:
        return None


def waited_for(runs: Mapping[str, TrainingRun]) -> tuple[tuple[str, RankPlace], ...]:
    """Node and place of the ranks that stood behind most of the others when the training ended early: the others waited for them, or lost them.

    None where most stood at the same place as the last one: no rank is singled out.
    """
    places = [(name, place) for name, run in runs.items() for place in run.places]
    order = Counter((place.run, place.step, PHASES.index(place.phase)) for _, place in places)
    if len({place.run for _, place in places}) != 1:
        return ()
    last = min(order)
    found = tuple((name, p) for name, p in places if (p.run, p.step, PHASES.index(p.phase)) == last)
    return found if 2 * len(found) < len(places) else ()


def waited_text(found: Sequence[tuple[str, RankPlace]]) -> str:
    """The same for people; empty for nobody."""
    names = ", ".join(f"{node} gpu{place.gpu}" for node, place in found)
    return f"{names} stood in phase {found[0][1].phase} of step {found[0][1].step} while most others were further" if found else ""


def absent_nodes(run: TrainingRun, parts: Mapping[str, NodePart]) -> tuple[str, ...]:
    """The nodes whose ranks did not come, as the first rank reported."""
    missing = {rank for error in run.errors for rank in error.missing}
    return tuple(name for name, p in parts.items() if missing & set(range(p.first_rank, p.first_rank + p.ranks)))
