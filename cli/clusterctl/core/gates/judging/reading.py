"""A raw record, read: its samples, or why it has none. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clusterctl.core.gates.judging.missing_evidence import hint_for
from clusterctl.core.parsers import UnparsableError
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome

if TYPE_CHECKING:
    from clusterctl.core.gates.gate import Gate
    from clusterctl.model.gate_result import RawRecord, Sample

_LINE_LIMIT = 240


@dataclass(frozen=True, slots=True)
class Reading:
    """What a record holds.

    Attributes:
        rule: the rule that it breaks as evidence (`complete`, `exit_status`); empty where it is complete.
        reason: why it is no complete evidence; None where it is.
        detail: the same for people.
    """

    samples: tuple[Sample, ...]
    rule: str = ""
    reason: GateReason | None = None
    detail: str = ""


def read_record(gate: Gate[Any], record: RawRecord) -> Reading:
    """Parse a record of a gate. One that ended badly may have samples all the same: some tools exit non-zero to report that a test failed."""
    if record.error or record.exit_status is None:
        return Reading((), "complete", record.error_code or GateReason.NO_EVIDENCE, record.error or "it has no exit status")
    reason, problem = None, ""
    if record.exit_status:
        last = gate.last_line(record)[:_LINE_LIMIT]
        reason = gate.failure_reason(record)
        problem = f"{_program(record)} ended with exit status {record.exit_status}{f': {last}' if last else ''}"
    try:
        samples = gate.samples(gate.output_of(record))
    except UnparsableError as e:
        if problem:
            return Reading((), "exit_status", reason, problem)
        return Reading((), "complete", GateReason.UNPARSABLE, str(e))
    return Reading(samples, "exit_status" if problem else "", reason, problem)


def not_run(gate: Gate[Any], record: RawRecord, reading: Reading) -> GateResult:
    """The result of a record that is no evidence."""
    return GateResult(
        gate=record.gate,
        node=record.node,
        outcome=Outcome.COULD_NOT_RUN,
        rule=reading.rule,
        device=record.device,
        peers=record.peers,
        detail=reading.detail,
        hint=hint_for(gate, reading.reason, record.node),
        simulated=record.simulated,
        reason=reading.reason,
    )


def _program(record: RawRecord) -> str:
    words = [w for w in record.argv if w != "env" and "=" not in w]
    return words[0] if words else record.tool
