"""The output of one node of a group on a shared file system, or why it is not evidence. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from clusterctl.core.gates.judging.reading import not_run, read_record
from clusterctl.core.parsers import UnparsableError
from clusterctl.core.parsers.storage_throughput import missing_phase, parse, read_storage_run
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome
from clusterctl_tools.storage_throughput import ALONE, read_run

if TYPE_CHECKING:
    from clusterctl.core.gates.gate import Gate
    from clusterctl.model.gate_result import RawRecord, Sample
    from clusterctl_tools.storage_throughput import StorageRun


def node_output(gate: Gate[Any], record: RawRecord | None, lead: RawRecord, number: int, asks: int) -> StorageRun | GateResult:
    """The whole output of the node with a number in the group that `lead` started, or its result without one."""
    if record is None:
        return GateResult(gate.name, "", Outcome.COULD_NOT_RUN, "complete", detail="no record came back", reason=GateReason.NO_RECORD)
    try:
        run = read_storage_run(record.stdout)
    except UnparsableError:
        run = None
    if run is None or record.error or record.exit_status != 0:
        return _ended(gate, record, lead)
    blank = GateResult(gate.name, record.node, Outcome.COULD_NOT_RUN, "complete", simulated=record.simulated)
    if (run.number, run.nodes, run.mount) != (number, len(lead.peers), record.device):
        found, planned = f"{run.number} of {run.nodes} on {run.mount}", f"{number} of {len(lead.peers)} on {record.device}"
        return replace(blank, reason=GateReason.WRONG_RUN, detail=f"it was number {found}, planned was {planned}")
    if phase := missing_phase(run, asks):
        return replace(blank, reason=GateReason.INCOMPLETE, detail=f"its output has no result of phase {phase}")
    if not run.errors and not node_samples(record):
        return not_run(gate, record, read_record(gate, record))
    return run


def node_samples(record: RawRecord) -> tuple[Sample, ...]:
    """The figures of a node; none where it had an error."""
    try:
        return parse(record.stdout)
    except UnparsableError:
        return ()


def read_partly(record: RawRecord) -> StorageRun | None:
    """What came back of an output; None where it is another one."""
    try:
        return read_run(record.stdout)
    except ValueError:
        return None


def _ended(gate: Gate[Any], record: RawRecord, lead: RawRecord) -> GateResult:
    """Of a node that did not go to its end; where others were missing, with their names."""
    result = not_run(gate, record, read_record(gate, record))
    run = read_partly(record)
    if run is None or record.exit_status != ALONE:
        return result
    names = ", ".join(lead.peers[number] for number in run.missing if number < len(lead.peers)) or "another node"
    return replace(result, detail=f"{names} did not come, or left before the end")
