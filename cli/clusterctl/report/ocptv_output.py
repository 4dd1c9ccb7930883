"""A run as OCP Test & Validation 2.0 output: a test run for each node. Pure.

The specification's test run has one device under test and one result; so each node has its own, as each is admitted or kept out by itself.
Several test runs one after another in one file: not confirmed that every reader takes them; the specification does not mention it.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import fields, is_dataclass
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

from clusterctl.model.findings import NodeStatus
from clusterctl.model.gate_result import Outcome
from clusterctl.model.ocptv import (
    Diagnosis,
    DiagnosisType,
    LogLine,
    LogSeverity,
    Measurement,
    OutputArtifact,
    TestError,
    TestResult,
    TestRunEnd,
    TestRunStart,
    TestStatus,
    TestStepEnd,
    TestStepStart,
)
from clusterctl.model.records import RunStatus
from clusterctl.report.ocptv_dut import NodeHardware, dut_info
from clusterctl.report.ocptv_steps import check_message, gate_messages
from clusterctl.report.rows import lost_rows, state_rows
from clusterctl_validators.finding import GOOD

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.gate_result import GateResult
    from clusterctl.model.ocptv import StepMessage
    from clusterctl.model.run_report import GateSpan, NodeTestRun, RunReport

# Printed even where they are empty: the specification requires them.
_REQUIRED = frozenset({"parameters", "command_line", "version"})


def output_lines(report: RunReport, test_run: NodeTestRun) -> Iterator[str]:
    """The test run of one node: JSON, one message a line, numbered from 0."""
    yield _line(0, report.run.started_at, {"schemaVersion": {"major": 2, "minor": 0}})
    for number, one in enumerate(_artifacts(report, test_run), 1):
        body: dict[str, Any] = {one.message.KEY: _plain(one.message)}
        if one.step_id:
            yield _line(number, one.at, {"testStepArtifact": {"testStepId": one.step_id, **body}})
        else:
            yield _line(number, one.at, {"testRunArtifact": body})


def _artifacts(report: RunReport, test_run: NodeTestRun) -> Iterator[OutputArtifact]:
    ended_at = report.run.finished_at or report.made_at
    collected: list[OutputArtifact] = []
    for one in _before_the_end(report, test_run, ended_at):
        collected.append(one)
        yield one
    yield OutputArtifact(_end(report, [t.message for t in collected]), ended_at)


def _before_the_end(report: RunReport, test_run: NodeTestRun, ended_at: str) -> Iterator[OutputArtifact]:
    run, section = report.run, test_run.section
    hardware = NodeHardware(test_run.parts)
    results = section.gate_results if section.gates_earlier is None else ()
    found = section.findings if section.findings_earlier is None else None
    yield OutputArtifact(_start(report, test_run, hardware, simulated=any(r.simulated for r in results)), run.started_at)
    if found:
        at = test_run.validated_at or ended_at
        for row in lost_rows(section):
            yield OutputArtifact(TestError(f"validation-{found.status.value}", "; ".join(w for w in (row.found, row.detail) if w)), at)
        for role, group in groupby(sorted(found.findings, key=lambda f: f.role), key=lambda f: f.role):
            yield from _step(f"checks.{role}", f"checks of {role}", (at, at), map(check_message, group))
    for gate, own in groupby(sorted(results, key=lambda r: r.gate), key=lambda r: r.gate):
        span = _times(test_run.spans.get(gate), ended_at)
        yield from _step(f"gate.{gate}", f"gate {gate}", span, (m for r in own for m in gate_messages(r, hardware)))
    for row in state_rows(section, run.verb, held_back=_is_explained(results, found)):
        text = "; ".join(w for w in (f"{section.name} is {row.found}", row.detail) if w)
        message = LogLine(LogSeverity.WARNING, text) if row.outcome is Outcome.WARN else TestError(section.state.value, text)
        yield OutputArtifact(message, ended_at)


def _is_explained(results: Iterable[GateResult], found: NodeFindings | None) -> bool:
    """Whether the findings of the run explain why the node is out."""
    checks = found.findings if found else ()
    lost = found is not None and found.status is not NodeStatus.OK
    return lost or any(r.outcome not in GOOD for r in results) or any(f.outcome not in GOOD for f in checks)


def _start(report: RunReport, test_run: NodeTestRun, hardware: NodeHardware, *, simulated: bool) -> TestRunStart:
    run = report.run
    return TestRunStart(
        name=f"clusterctl {run.verb}",
        version=run.versions.get("clusterctl", ""),
        command_line=shlex.join(run.argv),
        parameters={"target": run.target},
        dut_info=dut_info(test_run, hardware, run.versions),
        metadata={
            "runId": run.id,
            "runStatus": report.status,
            "operator": run.operator,
            "simulated": simulated,
            "nodeState": test_run.section.state.value,
            "nodeReason": test_run.section.reason,
        },
    )


def _step(step_id: str, name: str, span: tuple[str, str], messages: Iterable[StepMessage]) -> Iterator[OutputArtifact]:
    began_at, ended_at = span
    yield OutputArtifact(TestStepStart(name), began_at, step_id)
    collected = tuple(messages)
    for message in collected:
        yield OutputArtifact(message, ended_at, step_id)
    if any(isinstance(m, TestError) for m in collected):
        status = TestStatus.ERROR
    elif all(isinstance(m, LogLine) and m.severity is LogSeverity.INFO for m in collected):
        status = TestStatus.SKIP  # nothing of it applies to the node
    else:
        status = TestStatus.COMPLETE
    yield OutputArtifact(TestStepEnd(status), ended_at, step_id)


def _times(span: GateSpan | None, otherwise: str) -> tuple[str, str]:
    return (span.began_at, span.ended_at) if span else (otherwise, otherwise)


def _end(report: RunReport, collected: Sequence[object]) -> TestRunEnd:
    """A failure is one, whatever else could not run; nothing passes that was not tested to the end."""
    diagnoses = [m.type for m in collected if isinstance(m, Diagnosis)]
    if DiagnosisType.FAIL in diagnoses:
        return TestRunEnd(TestStatus.COMPLETE, TestResult.FAIL)
    if report.run.status is RunStatus.INTERRUPTED:
        return TestRunEnd(TestStatus.SKIP, TestResult.NOT_APPLICABLE)
    if report.run.status is not RunStatus.DONE or any(isinstance(m, TestError) for m in collected):
        return TestRunEnd(TestStatus.ERROR, TestResult.NOT_APPLICABLE)
    if any(isinstance(m, Diagnosis | Measurement) for m in collected):
        return TestRunEnd(TestStatus.COMPLETE, TestResult.PASS)
    return TestRunEnd(TestStatus.SKIP, TestResult.NOT_APPLICABLE)


def _line(number: int, at: str, body: dict[str, Any]) -> str:
    # ASCII, so that nothing that a node sends can move a cursor; json leaves DEL as it is.
    text = json.dumps({"sequenceNumber": number, "timestamp": at, **body}, allow_nan=False, separators=(",", ":"))
    return text.replace("\x7f", "\\u007f") + "\n"


def _plain(value: object) -> Any:
    """As JSON values: names in camel case, without what is None or empty."""
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    if not is_dataclass(value) or isinstance(value, type):
        return value
    found = {}
    for name, key in _keys(type(value)):
        own = getattr(value, name)
        if name in _REQUIRED or (own is not None and own not in ("", (), {})):
            found[key] = _plain(own)
    return found


@cache
def _keys(kind: type) -> tuple[tuple[str, str], ...]:
    named: Any = kind
    words = ((f.name, f.name.split("_")) for f in fields(named))
    return tuple((name, first + "".join(w.capitalize() for w in rest)) for name, (first, *rest) in words)
