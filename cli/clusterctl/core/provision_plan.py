"""What is to be done with each node, from what it says now, where it stands and what is stored. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.core.admission.decide import decide_admission
from clusterctl.core.lifecycle import is_legal, next_action
from clusterctl.model.exit_codes import ExitCode, worst
from clusterctl.model.findings import NodeStatus
from clusterctl.model.playbook_result import HostOutcome, HostStatus
from clusterctl.model.provision import NodePlan, Plan, PlannedAction
from clusterctl.model.state import State
from clusterctl.model.verdict import EXIT_CODES, Reason, ReasonKind
from clusterctl_validators.finding import GOOD, Outcome, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.gate_result import GateResult
    from clusterctl.model.node import Node
    from clusterctl.model.provision import ProvisionOptions
    from clusterctl.model.records import NodeRecord

_LOST = frozenset({NodeStatus.UNREACHABLE, NodeStatus.AUTH_FAILED, NodeStatus.HOST_KEY_CHANGED, NodeStatus.TIMED_OUT})
_HINTS = {
    NodeStatus.UNREACHABLE: "check its power, network and SSH, then run again",
    NodeStatus.AUTH_FAILED: "check ansible_user and its key, then run again",
    NodeStatus.HOST_KEY_CHANGED: "if the node was reinstalled on purpose, renew its line in known_hosts; else somebody answers in its place",
    NodeStatus.TIMED_OUT: "a hung mount or tool on the node; look there, then run again",
    NodeStatus.PYTHON_MISSING: "install python3 on the node",
}
_ABSENT = frozenset({ReasonKind.GATE_MISSING, ReasonKind.CHECKS_MISSING, ReasonKind.ROLE_FAILED})


@dataclass(frozen=True, slots=True)
class PlanInput:
    """All that is known of a node before it is touched.

    Attributes:
        findings: of this run's first round trip.
        last_findings, last_results: the evidence of the run that worked on it last.
        expected_gates: of the chosen level.
    """

    node: Node
    record: NodeRecord
    findings: NodeFindings
    last_findings: NodeFindings | None
    last_results: tuple[GateResult, ...]
    expected_gates: tuple[str, ...]


def make_plan(subjects: Iterable[PlanInput], options: ProvisionOptions) -> Plan:
    """The plan of every subject, in the order given."""
    return Plan(tuple(plan_node(s, options) for s in subjects))


def plan_node(subject: PlanInput, options: ProvisionOptions) -> NodePlan:
    """Decide what to do with one node."""
    name, state, findings = subject.node.name, subject.record.state, subject.findings
    if state is not State.ADMITTED and not is_legal(state, State.PROVISIONING):
        return _left(subject, PlannedAction.REFUSE, f"is {state}", (_note(f"it is {state}", next_action(name, state)),), ExitCode.USAGE)
    if findings.status in _LOST:
        what = f"{findings.status.replace('_', ' ')}: {findings.detail}".rstrip(": ")
        return _left(subject, PlannedAction.UNREACHABLE, what, (_lost(findings, what),), ExitCode.UNREACHABLE)
    if findings.status is not NodeStatus.OK and not options.all_roles:
        what = f"could not be validated ({findings.status.replace('_', ' ')}): {findings.detail}".rstrip(": ")
        return _left(subject, PlannedAction.REFUSE, what, (_note(what, _hint(findings)),), ExitCode.VALIDATOR_FAILED)
    roles, failing = to_apply(subject.node, findings, options)
    if state is State.ADMITTED and (not roles or _accepted(subject, options)) and subject.record.spec_digest == subject.node.spec.digest:
        return _left(subject, PlannedAction.LEAVE, "admitted, and as declared")
    if state is State.QUARANTINED and not options.retest:
        reasons = _still_bad(subject)
        if reasons:
            code = worst([EXIT_CODES[r.kind] for r in reasons])
            return _left(subject, PlannedAction.LEAVE, "quarantined, and nothing changed since", reasons, code)
    why = f"{len(failing)} failing checks" if failing else ("all roles" if roles else "no role has anything to do; burn-in is missing")
    return NodePlan(name, PlannedAction.WORK, state, why, roles, failing)


def to_apply(node: Node, findings: NodeFindings, options: ProvisionOptions) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The roles that have something to do, in the node's own order, and the checks that say so."""
    failing = tuple(f.check for f in findings.findings if f.outcome not in GOOD)
    wanted = {f.role for f in findings.findings if f.outcome not in GOOD}
    proven = {f.role for f in findings.findings}
    everything = options.all_roles or findings.status is not NodeStatus.OK
    roles = tuple(r for r in node.spec.roles if everything or r in wanted or r not in proven)
    return tuple(r for r in roles if not options.roles or r in options.roles), failing


def _still_bad(subject: PlanInput) -> tuple[Reason, ...]:
    """Why a quarantined node need not be tried again: same declared state, and stored evidence that it is bad; else nothing."""
    if subject.record.spec_digest != subject.node.spec.digest:
        return ()
    now, then = _failing(subject.findings), _failing(subject.last_findings)
    by_gate = any(r.outcome is Outcome.FAIL and r.node == subject.node.name for r in subject.last_results)
    if now != then or not (now or by_gate):
        return ()
    verdict = decide_admission(
        subject.node.name,
        expected_roles=subject.node.spec.roles,
        expected_gates=subject.expected_gates if by_gate else (),
        findings=subject.findings,
        gate_results=subject.last_results,
        outcome=HostOutcome(subject.node.name, HostStatus.OK),
    )
    return tuple(r for r in verdict.reasons if r.kind not in _ABSENT) or verdict.reasons


def _accepted(subject: PlanInput, options: ProvisionOptions) -> bool:
    """Whether all that fails is minor and was there already when the node was admitted."""
    bad = [f for f in subject.findings.findings if f.outcome not in GOOD]
    before = {f.check for f in subject.last_findings.findings if f.outcome not in GOOD} if subject.last_findings else set()
    return not options.all_roles and all(f.severity is Severity.MINOR and f.check in before for f in bad)


def _failing(findings: NodeFindings | None) -> frozenset[str]:
    return frozenset(f.check for f in findings.findings if f.outcome is Outcome.FAIL) if findings else frozenset()


def _lost(findings: NodeFindings, what: str) -> Reason:
    return Reason(ReasonKind.UNREACHABLE, what, hint=_hint(findings))


def _hint(findings: NodeFindings) -> str:
    return _HINTS.get(findings.status, "`clusterctl validate` shows more; --all-roles applies its roles all the same")


def _note(text: str, hint: str) -> Reason:
    return Reason(ReasonKind.CHECKS_MISSING, text, hint=hint)


def _left(
    subject: PlanInput, action: PlannedAction, why: str, reasons: tuple[Reason, ...] = (), exit_code: ExitCode = ExitCode.OK
) -> NodePlan:
    simulated = bool(reasons) and any(r.simulated for r in subject.last_results)
    return NodePlan(subject.node.name, action, subject.record.state, why, reasons=reasons, exit_code=exit_code, simulated=simulated)
