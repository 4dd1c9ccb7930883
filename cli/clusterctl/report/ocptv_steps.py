"""Findings and gate results as messages of a test step. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.model.gate_result import Outcome
from clusterctl.model.ocptv import (
    Diagnosis,
    DiagnosisType,
    LogLine,
    LogSeverity,
    Measurement,
    MeasurementValidator,
    TestError,
    ValidatorType,
)
from clusterctl.report.alike import pattern
from clusterctl_validators.finding import QUIET

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterctl.model.gate_result import GateResult
    from clusterctl.model.ocptv import Metadata, StepMessage
    from clusterctl.report.ocptv_dut import NodeHardware
    from clusterctl_validators.finding import Finding

# How a rule compares its value with its limit. A rule that is not here has none, or judges by more than the two numbers.
_COMPARED = {
    "floor": ValidatorType.GREATER_THAN_OR_EQUAL,
    "upper_limit": ValidatorType.LESS_THAN_OR_EQUAL,
    "link": ValidatorType.GREATER_THAN_OR_EQUAL,
    "growth": ValidatorType.LESS_THAN_OR_EQUAL,
    "query": ValidatorType.LESS_THAN,
    "correctness": ValidatorType.EQUAL,
}
_DIAGNOSES = {Outcome.PASS: DiagnosisType.PASS, Outcome.FAIL: DiagnosisType.FAIL}


def gate_messages(result: GateResult, hardware: NodeHardware) -> Iterator[StepMessage]:
    """The measurement of a result, where it has one and could run, and its diagnosis."""
    what = " ".join(w for w in (result.gate, result.rule, result.metric, result.device) if w)
    text = _text(what, result, detail=result.detail, source=result.source)
    part, device = hardware.place(result.device)
    if result.value is not None and result.outcome is not Outcome.COULD_NOT_RUN:
        name = result.metric or result.rule
        yield Measurement(name, result.value, result.unit, _validators(result), part, device, _metadata(result))
    reason = result.reason.value if result.reason else ""
    if result.outcome is Outcome.COULD_NOT_RUN:
        yield TestError(f"{result.gate}-{reason or Outcome.COULD_NOT_RUN.value}", text)
    elif kind := _DIAGNOSES.get(result.outcome):
        code = reason or "-".join(w for w in (result.rule, result.metric, result.outcome.value) if w)
        yield Diagnosis(f"{result.gate}-{code}", kind, text, part, device)
    else:
        yield _log(result.outcome, text)


def check_message(finding: Finding) -> StepMessage:
    """The text of a finding."""
    text = _text(finding.check, finding, severity=finding.severity.value, detail=finding.reason)
    verdict = f"{pattern(finding.check)}-{finding.outcome.value}"
    if finding.outcome is Outcome.COULD_NOT_RUN:
        return TestError(verdict, text)
    if kind := _DIAGNOSES.get(finding.outcome):
        return Diagnosis(verdict, kind, text)
    return _log(finding.outcome, text)


def _validators(result: GateResult) -> tuple[MeasurementValidator, ...]:
    compared = _COMPARED.get(result.rule)
    if compared is None or result.limit is None:
        return ()
    return (MeasurementValidator(result.rule, compared, result.limit, {"source": result.source} if result.source else {}),)


def _metadata(result: GateResult) -> Metadata:
    peers: Metadata = {"peers": result.peers} if result.peers else {}
    return {"rule": result.rule, "simulated": result.simulated, **peers}


def _log(outcome: Outcome, text: str) -> LogLine:
    severity = LogSeverity.INFO if outcome is Outcome.NOT_APPLICABLE else LogSeverity.WARNING
    return LogLine(severity, f"{outcome.value.replace('_', ' ')}: {text}")


def _text(what: str, one: GateResult | Finding, **more: str) -> str:
    """For people: everything that is known, each with its name."""
    known = {"expected": one.expected, "found": one.found, **more, "next": "" if one.outcome in QUIET else one.hint}
    return "; ".join([what, *(f"{name} {text}" for name, text in known.items() if text)])
