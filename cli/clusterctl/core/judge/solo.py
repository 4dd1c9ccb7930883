"""Gates of one node: dcgm_diag, nccl_node, nvbandwidth. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clusterctl.core.judge import dcgm, nccl
from clusterctl.core.judge.limits import Comparison, compare_with_limits
from clusterctl.core.judge.parse_record import Reading, hint_for, not_run, parse_record
from clusterctl.model.gate_result import GateResult, Outcome, RawRecord

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.core.judge.subject import Subject

_NVBANDWIDTH_HINT = "check link width and generation of the GPU under load (`nvidia-smi -q -d PERFORMANCE`), and its NVLinks; reseat it"


def judge_node(gate: str, subject: Subject, records: Sequence[RawRecord]) -> tuple[GateResult, ...]:
    """The results of a node gate from the node's own records of it."""
    results: list[GateResult] = []
    for record in records:
        reading = parse_record(record)
        if not reading.samples:
            found: Sequence[GateResult] = (not_run(record, reading),)
        elif gate == "dcgm_diag":
            found = dcgm.verdicts(subject, record, reading)
        elif gate == "nccl_node":
            settings = subject.profile.settings.nccl_node
            verdicts = (*nccl.verdicts(record, reading, settings, subject.profile.for_gate(gate), 1), *_ranks(subject, reading))
            found = [_result(gate, subject, v, nccl.hint_of(v)) for v in verdicts]
        else:
            found = [_result(gate, subject, v, _NVBANDWIDTH_HINT) for v in _nvbandwidth(subject, reading)]
        results += [replace(r, simulated=record.simulated) for r in found]
    return tuple(results)


def _ranks(subject: Subject, reading: Reading) -> tuple[Comparison, ...]:
    ranks = sum(s.value for s in reading.samples if s.metric == "ranks")
    if subject.gpus and ranks and ranks != subject.gpus:
        detail = f"it ran on {ranks:g} of {subject.gpus} GPUs"
        return (Comparison(Outcome.COULD_NOT_RUN, "complete", "ranks", str(subject.gpus), f"{ranks:g}", detail=detail),)
    return ()


def _nvbandwidth(subject: Subject, reading: Reading) -> tuple[Comparison, ...]:
    errors = [s for s in reading.samples if s.metric == "error"]
    if errors:
        return (
            Comparison(Outcome.FAIL, "correctness", "error", "none", "an error", "nvbandwidth checks what it copied", errors[0].detail),
        )
    if reading.rule:
        return (Comparison(Outcome.COULD_NOT_RUN, reading.rule, "", detail=reading.detail),)
    asked = subject.profile.settings.nvbandwidth.testcases
    unfinished = [
        Comparison(Outcome.COULD_NOT_RUN, "complete", s.metric, "Passed", s.status, detail=f"testcase {s.metric} is {s.status}")
        for s in reading.samples
        if s.status and s.metric in asked
    ]
    baselines = [b for b in subject.profile.for_gate("nvbandwidth") if b.metric in asked]
    return (*unfinished, *compare_with_limits(reading.samples, baselines, nodes=1))


def _result(gate: str, subject: Subject, verdict: Comparison, hint: str) -> GateResult:
    if verdict.outcome is Outcome.COULD_NOT_RUN and verdict.rule in ("complete", "exit_status"):
        hint = hint_for(verdict.detail, subject.name)
    return GateResult(
        gate=gate,
        node=subject.name,
        outcome=verdict.outcome,
        rule=verdict.rule,
        metric=verdict.metric,
        expected=verdict.expected,
        found=verdict.found,
        device=verdict.device,
        source=verdict.source,
        detail=verdict.detail,
        hint="" if verdict.outcome is Outcome.PASS else hint,
    )
