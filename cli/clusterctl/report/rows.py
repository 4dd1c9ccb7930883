"""Evidence of a node -> rows of the page. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.core.finding_hint import named_hint
from clusterctl.core.lifecycle import IN_PROGRESS, next_action
from clusterctl.model.findings import NodeStatus, status_hint
from clusterctl.model.gate_result import Outcome
from clusterctl.model.state import State
from clusterctl.report.alike import EvidenceRow, item
from clusterctl_validators.finding import GOOD, QUIET

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from clusterctl.model.gate_result import GateResult
    from clusterctl.model.run_report import Earlier, NodeSection
    from clusterctl_validators.finding import Finding

_ON_PURPOSE = frozenset({State.DRAINED, State.MAINTENANCE, State.RMA, State.RETIRED})
_UNFINISHED = IN_PROGRESS | {State.REGISTERED}


def problem_rows(section: NodeSection, verb: str) -> tuple[EvidenceRow, ...]:
    """What is not as it should be on a node. Evidence that no longer counts is not shown of a node that was admitted since."""
    results, found = bad_evidence(section)
    rows = [*gate_rows(section, results), *check_rows(section, found), *lost_rows(section)]
    gone = {run for e in (section.gates_earlier, section.findings_earlier) if e and not e.counts for run in e.runs}
    admitted = section.state is State.ADMITTED
    bad = [r for r in rows if not (admitted and r.run in gone)]
    held_back = any(r.outcome not in GOOD for r in bad)
    return (*bad, *state_rows(section, verb, held_back=held_back))


def bad_evidence(section: NodeSection) -> tuple[list[GateResult], list[Finding]]:
    """What of its evidence is to be looked at."""
    found = section.findings.findings if section.findings else ()
    return [g for g in section.gate_results if g.outcome not in QUIET], [f for f in found if f.outcome not in QUIET]


def good_evidence(section: NodeSection) -> tuple[list[GateResult], list[Finding]]:
    """The rest of it."""
    found = section.findings.findings if section.findings else ()
    return [g for g in section.gate_results if g.outcome in QUIET], [f for f in found if f.outcome in QUIET]


def gate_rows(section: NodeSection, results: Iterable[GateResult]) -> tuple[EvidenceRow, ...]:
    """Gate results of the node."""
    run = _run(section.gates_earlier)
    return tuple(_gate_row(g, run) for g in results)


def check_rows(section: NodeSection, findings: Iterable[Finding]) -> tuple[EvidenceRow, ...]:
    """Findings of the node."""
    run = _run(section.findings_earlier)
    return tuple(_check_row(f, section.name, run) for f in findings)


def _gate_row(result: GateResult, run: str) -> EvidenceRow:
    return EvidenceRow(
        result.outcome,
        result.gate,
        " ".join(w for w in (result.gate, result.rule, result.metric) if w),
        result.node,
        result.device,
        expected=result.expected,
        found=result.found,
        source=result.source,
        detail=result.detail,
        hint="" if result.outcome in QUIET else result.hint,
        value=result.value,
        unit=result.unit,
        simulated=result.simulated,
        run=run,
    )


def _check_row(finding: Finding, node: str, run: str) -> EvidenceRow:
    return EvidenceRow(
        finding.outcome,
        finding.role,
        finding.check,
        node,
        item(finding.check),
        finding.severity,
        expected=finding.expected,
        found=finding.found,
        detail=finding.reason,
        hint="" if finding.outcome in QUIET else named_hint(finding, node),
        run=run,
    )


def lost_rows(section: NodeSection) -> Iterator[EvidenceRow]:
    """Why its checks gave no findings."""
    found = section.findings
    if found is None or found.status is NodeStatus.OK:
        return
    words = found.status.value.replace("_", " ")
    yield EvidenceRow(
        Outcome.COULD_NOT_RUN,
        "validation",
        "validation",
        section.name,
        expected="an answer to every check",
        found=words,
        detail=found.detail,
        hint=status_hint(found.status, section.name),
        run=_run(section.findings_earlier),
    )


def state_rows(section: NodeSection, verb: str, *, held_back: bool) -> Iterator[EvidenceRow]:
    """The state itself, where no result explains it."""
    state = section.state
    if state in _ON_PURPOSE:
        outcome = Outcome.WARN
    elif state is State.QUARANTINED and not held_back:
        outcome = Outcome.FAIL
    elif verb == "provision" and state in _UNFINISHED and not held_back:
        outcome = Outcome.COULD_NOT_RUN
    else:
        return
    words = state.value.replace("_", " ")
    yield EvidenceRow(
        outcome,
        "state",
        words,
        section.name,
        expected="admitted",
        found=words,
        detail=section.reason,
        hint=next_action(section.name, state),
    )


def _run(earlier: Earlier | None) -> str:
    return ", ".join(earlier.runs) if earlier else ""
