"""A raw record, read: its samples, or why it has none. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clusterctl.core.parsers import UnparsableError
from clusterctl.model.gate_result import GateResult, Outcome

if TYPE_CHECKING:
    from clusterctl.core.gates.gate import Gate
    from clusterctl.model.gate_result import RawRecord, Sample

_LINE_LIMIT = 240


@dataclass(frozen=True, slots=True)
class Reading:
    """What a record holds.

    Attributes:
        rule: why it is no complete evidence (`complete`, `exit_status`); empty where it is.
        detail: the same for people.
    """

    samples: tuple[Sample, ...]
    rule: str = ""
    detail: str = ""


def read_record(gate: Gate[Any], record: RawRecord) -> Reading:
    """Parse a record of a gate. One that ended badly may have samples all the same: some tools exit non-zero to report that a test failed."""
    if record.error or record.exit_status is None:
        return Reading((), "complete", record.error or "it has no exit status")
    problem = ""
    if record.exit_status:
        last = gate.last_line(record)[:_LINE_LIMIT]
        problem = f"{_program(record)} ended with exit status {record.exit_status}{f': {last}' if last else ''}"
    try:
        samples = gate.samples(gate.output_of(record))
    except UnparsableError as e:
        if problem:
            return Reading((), "exit_status", problem)
        return Reading((), "complete", str(e))
    return Reading(samples, "exit_status" if problem else "", problem)


def not_run(record: RawRecord, reading: Reading, *, node: str = "") -> GateResult:
    """The result of a record that is no evidence; `node` where it is not the one that ran the command."""
    return GateResult(
        gate=record.gate,
        node=node or record.node,
        outcome=Outcome.COULD_NOT_RUN,
        rule=reading.rule,
        device=record.device,
        peers=record.peers,
        detail=reading.detail,
        hint=hint_for(reading.detail, record.node),
        simulated=record.simulated,
    )


def hint_for(detail: str, node: str) -> str:
    """What to do about evidence that is missing."""
    if "not installed" in detail:
        return f"role gpu_tools installs it: `clusterctl provision {node}`"
    if "another burn-in" in detail:
        return "wait for that one to end, then run again"
    if "unreachable" in detail or "never answered" in detail or "stopped answering" in detail:
        return f"check network, SSH and power of the node, then `clusterctl burnin {node}`"
    if "MNNVL" in detail:
        return (
            "NCCL cannot use the NVLink between the trays: on each of them see `nvidia-imex-ctl -N` and /dev/nvidia-caps-imex-channels, "
            f"then `clusterctl burnin {node}`"
        )
    if "timed out" in detail:
        return "its output so far is in the run directory; look there for a hanging GPU or link, then run again"
    return f"the raw output is in the run directory; correct the cause, then `clusterctl burnin {node}`"


def _program(record: RawRecord) -> str:
    words = [w for w in record.argv if w != "env" and "=" not in w]
    return words[0] if words else record.tool
