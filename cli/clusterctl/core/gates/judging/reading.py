"""A raw record, read: its samples, or why it has none. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from clusterctl.core.gates.judging.limits import limit_text
from clusterctl.core.gates.judging.missing_evidence import hint_for
from clusterctl.core.parsers import UnparsableError
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome, Sample

if TYPE_CHECKING:
    from clusterctl.core.gates.gate import Gate
    from clusterctl.model.gate_result import RawRecord

_LINE_LIMIT = 240
# Of the time that a load was to run: whether the search of ubergemm for a kernel counts is not confirmed.
_LEAST_SHARE = 0.9
# The loader of glibc, CUDA 35 (cudaErrorInsufficientDriver, also "if no driver can be loaded": CUDA Runtime API, cudaGetDeviceCount),
# PyTorch (torch/csrc/cuda/utils), DCGM (DCGM_ST_NVML_NOT_LOADED). No program ran on a GPU then: so it is on a host whose driver is in a container of the GPU Operator.
_NO_DRIVER_LIBRARY = re.compile(
    r"lib(?:cuda|nvidia-ml)\.so(?:\.1)?: cannot open shared object file|CUDA driver version is insufficient for CUDA runtime version"
    r"|Found no NVIDIA driver on your system|NVML doesn't exist on this system"
)


@dataclass(frozen=True, slots=True)
class Reading:
    """What a record holds.

    Attributes:
        rule: the rule that it breaks as evidence (`complete`, `exit_status`); empty where it is complete.
        reason: why it is not complete evidence; None where it is.
        detail: the same for people.
    """

    samples: tuple[Sample, ...]
    rule: str = ""
    reason: GateReason | None = None
    detail: str = ""


def read_record(gate: Gate[Any], record: RawRecord) -> Reading:
    """Parse a record of a gate. One that ended badly may have samples all the same: some tools exit non-zero to report that a test failed.

    What the code of a gate raises, which may be a site's, is the reason why this record is not evidence. A value that is not finite is none.
    """
    if record.error or record.exit_status is None:
        return Reading((), "complete", record.error_code or GateReason.NO_EVIDENCE, record.error or "it has no exit status")
    reason, problem = None, ""
    try:
        if record.exit_status:
            reason, problem = GateReason.EXIT_STATUS, f"{_program(record)} ended with exit status {record.exit_status}"
            lacks_driver = _NO_DRIVER_LIBRARY.search(f"{record.stdout}\n{record.stderr}")
            reason = GateReason.DRIVER_LIBRARY if lacks_driver else GateReason(gate.failure_reason(record))
            last = gate.last_line(record)[:_LINE_LIMIT]
            problem += f": {last}" if last else ""
        samples = _samples(gate, record)
    except UnparsableError as e:
        missing = Reading((), "complete", GateReason.UNPARSABLE, str(e))
    except Exception as e:  # noqa: BLE001 the code of a gate may raise anything; other records are judged all the same
        missing = Reading((), "complete", GateReason.GATE_RAISED, gate_raised(gate, e))
    else:
        return Reading(samples, "exit_status" if problem else "", reason, problem)
    return Reading((), "exit_status", reason, problem) if problem else missing


def gate_raised(gate: Gate[Any], error: Exception) -> str:
    """What the code of a gate raised, for people."""
    return f"the code of gate {gate.name} raised {type(error).__name__}: {str(error)[:_LINE_LIMIT]}"


def _samples(gate: Gate[Any], record: RawRecord) -> tuple[Sample, ...]:
    found = tuple(gate.samples(gate.output_of(record)))
    for sample in found:
        if not isinstance(sample, Sample):
            raise TypeError(f"{type(sample).__name__} is not a Sample")
        if not isfinite(sample.value):
            where = f" of {sample.device}" if sample.device else ""
            raise UnparsableError(tool=gate.tool, reason=f"{sample.metric}{where} is {sample.value}, which is not a number")
    if not found:
        raise UnparsableError(tool=gate.tool, reason="there is no sample in it")
    return found


def not_run(gate: Gate[Any], record: RawRecord, reading: Reading) -> GateResult:
    """The result of a record that is not evidence."""
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


def cut_short(record: RawRecord, planned_s: float) -> Reading | None:
    """Why a load that ended before its time, or whose time is not known, is not evidence; None where it ran for its time."""
    if planned_s > 0 and record.duration_s >= _LEAST_SHARE * planned_s:
        return None
    detail = f"it ended after {limit_text(record.duration_s)} of {limit_text(planned_s)} s"
    return Reading((), "complete", GateReason.WRONG_RUN, detail)


def _program(record: RawRecord) -> str:
    words = [w for w in record.argv if w != "env" and "=" not in w]
    return words[0] if words else record.tool
