"""The plan: what `plan` shows is what `provision` does. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from clusterctl.core.admission.decide import configuration_reasons, decide_admission, gate_reasons
from clusterctl.core.ansible_series import is_older
from clusterctl.core.check_names import names_check
from clusterctl.core.declared_kernel import runs_another_kernel, split_at_kernel
from clusterctl.core.lemons.demands import demand, owes_full
from clusterctl.core.lifecycle import end_of_ownership, is_legal, keeps_out, next_action, owned_text
from clusterctl.core.ownership import is_not_kept, never_applied
from clusterctl.model.exit_codes import ExitCode, worst
from clusterctl.model.findings import LOST, NodeStatus, status_hint
from clusterctl.model.plan import Change, NodePlan, Plan, PlannedAction, UnknownCheck
from clusterctl.model.playbook_result import HostOutcome, HostStatus
from clusterctl.model.running_text import counted
from clusterctl.model.state import State
from clusterctl.model.validator_traits import ValidatorTraits
from clusterctl.model.verdict import EXIT_CODES, Reason, ReasonKind
from clusterctl_validators.finding import GOOD, Outcome, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.gate_result import GateResult
    from clusterctl.model.node import Node
    from clusterctl.model.provision import ProvisionOptions
    from clusterctl.model.records import NodeRecord
    from clusterctl.model.trouble import TroubleRecord
    from clusterctl_validators.finding import Finding

_ABSENT = frozenset({ReasonKind.GATE_MISSING, ReasonKind.CHECKS_MISSING, ReasonKind.ROLE_FAILED})
_DONE_BY_A_RUN = frozenset({PlannedAction.PROVISION, PlannedAction.ADMIT})
# Left between burn-in and admission by a run that was killed or interrupted.
_MEASURED = frozenset({State.VALIDATED, State.BURNED_IN})
_BURN_IN_WHY = {
    False: "no role has anything to do; burn-in is missing",
    True: "measured before, but the run directory with the raw records is gone: burn-in is missing",
}


@dataclass(frozen=True, slots=True)
class PlanInput:
    """All that is known of a node before it is changed.

    Attributes:
        findings: of this run's round trip.
        last_findings, last_results: the evidence of the run that last changed the node; needed only where `needs_history`.
        expected_gates: of the chosen level.
        recorded_gates: those of an admitted node's admission record; empty for others.
        records_gone: a run that gathered its current evidence has lost its directory: nobody could check an admission on it.
        traits: what the validators declare.
        due: the record over its limit of its machine or of a part of it; None = there is none.
        measured_levels: of its current evidence; needed only where `was_measured`.
        oldest_python: the oldest Python of a node that this controller's Ansible can change; empty if that is unknown.
    """

    node: Node
    record: NodeRecord
    findings: NodeFindings
    last_findings: NodeFindings | None = None
    last_results: tuple[GateResult, ...] = ()
    expected_gates: tuple[str, ...] = ()
    records_gone: bool = False
    oldest_python: str = ""
    recorded_gates: frozenset[str] = frozenset()
    traits: ValidatorTraits = ValidatorTraits()  # noqa: RUF009 frozen
    due: TroubleRecord | None = None
    measured_levels: frozenset[str] = frozenset()

    @property
    def unmeasured(self) -> tuple[str, ...]:
        """The gates of the chosen level on which an admitted node was not admitted."""
        if self.record.state is not State.ADMITTED:
            return ()
        return tuple(g for g in self.expected_gates if g not in self.recorded_gates)


def needs_history(record: NodeRecord) -> bool:
    """Whether the plan of a node depends on the evidence of its last run."""
    return record.state in (State.ADMITTED, State.QUARANTINED)


def was_measured(record: NodeRecord) -> bool:
    """Whether its current evidence may be complete: then it is not measured again."""
    return record.state in _MEASURED


def make_plan(inputs: Iterable[PlanInput], options: ProvisionOptions, traits: ValidatorTraits) -> Plan:
    """The plan of every node, in the order given; `traits` as the validators declare them."""
    return Plan(tuple(plan_node(replace(i, traits=traits), options) for i in inputs))


def plan_node(known: PlanInput, options: ProvisionOptions) -> NodePlan:
    """Decide what to do with one node: the first rule that applies."""
    roles = roles_to_apply(known.node, known.findings, options, known.traits)
    return (
        _left_owned(known, options)
        or _not_possible(known, options)
        or _left_admitted(known, roles, options)
        or _left_quarantined(known, options)
        or _owing(known, options)
        or _proven(known, roles, options)
        or _old_python(known)
        or _unrepairable(known, roles, options)
        or _to_provision(known, roles)
    )


def _left_owned(known: PlanInput, options: ProvisionOptions) -> NodePlan | None:
    """A node that a person drained or quarantined."""
    record = known.record
    if options.include_drained or not keeps_out(record.owner, State.PROVISIONING):
        return None
    what = f"{owned_text(record.state, record.owner)}: {record.reason}".rstrip(": ")
    reason = Reason(ReasonKind.REFUSED, what, hint=end_of_ownership(known.node.name))
    return _plan(known, PlannedAction.LEAVE, f"left out: {what}", reasons=(reason,), exit_code=ExitCode.CHANGES_PENDING)


def _not_possible(known: PlanInput, options: ProvisionOptions) -> NodePlan | None:
    """The node's state does not allow provisioning, or nothing is known of it."""
    name, state, findings = known.node.name, known.record.state, known.findings
    if state is not State.ADMITTED and not is_legal(state, State.PROVISIONING):
        reason = Reason(ReasonKind.REFUSED, f"it is {state}", hint=next_action(name, state))
        return _plan(known, PlannedAction.REFUSE, f"is {state}", reasons=(reason,), exit_code=ExitCode.USAGE)
    if findings.status in LOST:
        what = f"{findings.status.replace('_', ' ')}: {findings.detail}".rstrip(": ")
        reason = Reason(ReasonKind.UNREACHABLE, what, hint=status_hint(findings.status, name))
        return _plan(known, PlannedAction.UNREACHABLE, what, reasons=(reason,), exit_code=ExitCode.UNREACHABLE)
    if findings.status is not NodeStatus.OK and not options.all_roles:
        what = f"could not be validated ({findings.status.replace('_', ' ')}): {findings.detail}".rstrip(": ")
        hint = f"{status_hint(findings.status, name)}; --all-roles applies its roles all the same"
        reason = Reason(ReasonKind.CHECKS_MISSING, what, hint=hint)
        return _plan(known, PlannedAction.REFUSE, what, reasons=(reason,), exit_code=ExitCode.VALIDATOR_FAILED)
    return None


def _left_admitted(known: PlanInput, roles: tuple[str, ...], options: ProvisionOptions) -> NodePlan | None:
    """An admitted node that is as declared, or on which only roles that were not selected have something to do."""
    if known.record.state is not State.ADMITTED:
        return None
    if options.roles and not roles and (blocking := _blocking(known.findings)):
        why = f"{counted(blocking, 'failing check')} of roles that were not selected"
        hint = f"`clusterctl plan {known.node.name}` shows them; provision without selecting roles"
        reason = Reason(ReasonKind.CHECK_FAILED, why, hint=hint)
        return _plan(known, PlannedAction.LEAVE, why, reasons=(reason,), exit_code=ExitCode.CHANGES_PENDING)
    if known.unmeasured:
        return None
    if known.record.spec_digest == known.node.spec.digest and _acceptable(known, roles, options):
        return _plan(known, PlannedAction.LEAVE, "admitted, and as declared")
    return None


def _left_quarantined(known: PlanInput, options: ProvisionOptions) -> NodePlan | None:
    """A quarantined node with the same declared state and the same evidence against it."""
    if known.record.state is not State.QUARANTINED or options.retest:
        return None
    reasons = _still_bad(known)
    if not reasons:
        return None
    return _plan(known, PlannedAction.LEAVE, "quarantined, and nothing changed since", reasons=reasons, exit_code=_code(reasons))


def _owing(known: PlanInput, options: ProvisionOptions) -> NodePlan | None:
    """A node that serves again only after a burn-in of level full, and another level was chosen: a lighter one has passed it before."""
    if known.due is None or not owes_full(known.due, {options.level}):
        return None
    reason = demand(known.due, known.node.name)
    return _plan(known, PlannedAction.LEAVE, reason.text, reasons=(reason,), exit_code=ExitCode.CHANGES_PENDING)


def _proven(known: PlanInput, roles: tuple[str, ...], options: ProvisionOptions) -> NodePlan | None:
    """A node with complete current evidence that an earlier run did not get to admit."""
    if owes_full(known.due, known.measured_levels):
        return None
    if not was_measured(known.record) or known.records_gone or roles or options.all_roles or options.retest:
        return None
    name = known.node.name
    verdict = decide_admission(
        name,
        expected_roles=known.node.spec.roles,
        expected_gates=known.expected_gates,
        findings=known.findings,
        gate_results=known.last_results,
        outcome=HostOutcome(name, HostStatus.OK),
    )
    return _plan(known, PlannedAction.ADMIT, "measured before, and as declared: to be admitted on that evidence") if verdict.admit else None


def _old_python(known: PlanInput) -> NodePlan | None:
    """A node whose Python Ansible refuses: it stays in the pool, because every role would fail."""
    python, oldest = known.findings.python, known.oldest_python
    if not is_older(python, oldest):
        return None
    what = f"its Python {python} is too old: this controller's ansible-core needs {oldest} or later on nodes"
    hint = "install a newer one beside it and set ansible_python_interpreter, or use clusterctl with ansible-core 2.19 (Python 3.11)"
    reason = Reason(ReasonKind.REFUSED, what, hint=hint)
    return _plan(known, PlannedAction.REFUSE, what, reasons=(reason,), exit_code=ExitCode.USAGE)


def _unrepairable(known: PlanInput, roles: tuple[str, ...], options: ProvisionOptions) -> NodePlan | None:
    """A node on which a check fails and no role is left that could repair it."""
    if roles and (options.all_roles or set(roles) - _asserting(known.findings, known.traits)):
        return None
    reasons = _beyond_roles(known)
    if not reasons:
        return None
    return _plan(known, PlannedAction.QUARANTINE, "a check fails that no role can repair", reasons=reasons, exit_code=_code(reasons))


def _to_provision(known: PlanInput, roles: tuple[str, ...]) -> NodePlan:
    failing = sum(f.outcome not in GOOD for f in known.findings.findings)
    why = f"{failing} failing checks" if failing else ("all roles" if roles else _BURN_IN_WHY[known.records_gone])
    if known.unmeasured and not failing and not roles:
        why = f"admitted without {', '.join(known.unmeasured)}, which the chosen level expects"
    return _plan(known, PlannedAction.PROVISION, why, roles=roles)


def roles_to_apply(node: Node, findings: NodeFindings, options: ProvisionOptions, traits: ValidatorTraits) -> tuple[str, ...]:
    """The roles that have something to do, in the node's own order; those that would only assert in company of others, and where what they assert is bad.

    Roles that are owned elsewhere never have. Where another kernel than the declared one runs, every later role has: what it verified was built for that kernel.
    """
    failing = {f.role for f in _own_bad(findings, traits) if _may_act(f, traits)}
    proven = {f.role for f in findings.findings}
    left = never_applied(node.spec, findings)
    everything = options.all_roles or findings.status is not NodeStatus.OK
    rebuilt = set(split_at_kernel(tuple(node.spec.roles), traits)[1]) if runs_another_kernel(findings, traits) else set()
    if any(traits.of(r).running_kernel for r in left) and rebuilt:
        return ()  # the owner of the kernel starts the declared one first
    roles = tuple(r for r in node.spec.roles if r not in left and (everything or r in failing or r not in proven or r in rebuilt))
    chosen = tuple(r for r in roles if not options.roles or r in options.roles)
    idle = _asserting(findings, traits) - rebuilt
    return chosen if everything or set(chosen) - idle else tuple(r for r in chosen if r not in proven)


def refuse_alone(plan: Plan, alone: Mapping[str, str]) -> Plan:
    """The plan without the admitted nodes that would be taken out although they cannot be measured alone; `alone`: node -> why."""
    hint = "name admitted nodes to measure with: --partners NODE,NODE; or allow them with auto_partners in clusterctl.yml"

    def refused(node: NodePlan) -> NodePlan:
        if node.state is not State.ADMITTED or node.action is not PlannedAction.PROVISION or node.node not in alone:
            return node
        what = f"{alone[node.node]}: it stays in the pool, unchanged"
        reason = Reason(ReasonKind.REFUSED, what, hint=hint)
        return replace(node, action=PlannedAction.REFUSE, why=what, reasons=(reason,), roles=(), exit_code=ExitCode.USAGE)

    return Plan(tuple(refused(n) for n in plan.nodes))


def check_exit_code(plan: Plan) -> ExitCode:
    """The exit code of `plan`: 8 changes pending; 4 or 6 where a node gave no answer, or where no role can repair what fails.

    A check that could not run on a node with changes pending is not a failure yet: the tool it needs may be among them.
    """
    return worst([n.check_code for n in plan.nodes])


def plan_exit_code(plan: Plan) -> ExitCode:
    """The exit code of `provision --check`: 8 if a node would be provisioned or admitted, else the worst of the nodes that would be left out."""
    return worst([ExitCode.CHANGES_PENDING if n.action in _DONE_BY_A_RUN else n.exit_code for n in plan.nodes])


def plan_body(plan: Plan, digests: Mapping[str, str]) -> dict[str, Any]:
    """Plain JSON values; `digests`: node -> digest of the declared state that it was compared with."""

    def change(one: Change) -> dict[str, str]:
        return {"role": one.role, "check": one.check, "found": one.found, "expected": one.expected, "severity": one.severity}

    return {
        "summary": {"nodes_to_change": len(plan.to_change), "roles_to_change": list(plan.roles)},
        "nodes": [
            {
                "name": n.node,
                "state": n.state.value,
                "action": n.action.value,
                "why": n.why,
                "status": n.status.value,
                "detail": n.detail,
                "spec_digest": digests[n.node],
                "roles": list(n.roles),
                "changes": [change(c) for c in n.changes],
                "beyond_roles": [change(c) for c in n.beyond_roles],
                "could_not_run": [{"role": u.role, "check": u.check, "reason": u.reason} for u in n.unknown],
            }
            for n in plan.nodes
        ],
    }


def _blocking(findings: NodeFindings) -> int:
    return sum(f.outcome not in GOOD and f.severity is not Severity.MINOR for f in findings.findings)


def _beyond_role(finding: Finding, traits: ValidatorTraits) -> bool:
    if finding.owner or is_not_kept(finding.check):
        return True
    return traits.asserts_only(finding.role) or names_check(traits.of(finding.role).beyond_role, finding.check)


def _may_act(finding: Finding, traits: ValidatorTraits) -> bool:
    """Whether the role of a bad finding mends or asserts what it is about."""
    asserted = traits.of(finding.role).asserted
    return not asserted or names_check(asserted, finding.check)


def _asserting(findings: NodeFindings, traits: ValidatorTraits) -> frozenset[str]:
    """The roles that change nothing on this node: at all, or because everything of theirs that is bad is beyond them."""
    bad = _own_bad(findings, traits)
    mended = {f.role for f in bad if not _beyond_role(f, traits)}
    declared = {role for role in traits.by_role if traits.asserts_only(role)}
    return frozenset(declared | {f.role for f in bad} - mended)


def _own_bad(findings: NodeFindings, traits: ValidatorTraits) -> list[Finding]:
    """What is bad of this node; a check about other nodes is not a reason to change this one, and the others have findings of their own."""
    return [f for f in findings.findings if f.outcome not in GOOD and not traits.about_others(f.role, f.check)]


def _beyond_roles(known: PlanInput) -> tuple[Reason, ...]:
    """What admission would refuse although no role is left to apply."""
    applied = HostOutcome(known.node.name, HostStatus.OK)
    reasons = configuration_reasons(known.node.name, expected_roles=known.node.spec.roles, findings=known.findings, outcome=applied)
    return tuple(r for r in reasons if r.kind in (ReasonKind.CHECK_FAILED, ReasonKind.CHECK_SHARED, ReasonKind.CHECK_COULD_NOT_RUN))


def _still_bad(known: PlanInput) -> tuple[Reason, ...]:
    """Why a quarantined node need not be tried again: same declared state, and stored evidence against it; else nothing."""
    name = known.node.name
    if known.record.spec_digest != known.node.spec.digest:
        return ()
    now, then = _failing(known.findings), _failing(known.last_findings)
    by_gate = any(r.outcome is Outcome.FAIL and r.node == name for r in known.last_results)
    if now != then or not (now or by_gate):
        return ()
    applied = HostOutcome(name, HostStatus.OK)
    reasons = configuration_reasons(name, expected_roles=known.node.spec.roles, findings=known.findings, outcome=applied)
    if by_gate:
        reasons += gate_reasons(name, known.last_results, known.expected_gates)
    return tuple(r for r in reasons if r.kind not in _ABSENT) or reasons


def _acceptable(known: PlanInput, roles: tuple[str, ...], options: ProvisionOptions) -> bool:
    """Whether nothing is to be done, or all that fails is minor and failed already when the node was admitted."""
    if options.all_roles:
        return False
    bad = _own_bad(known.findings, known.traits)
    if not roles and not bad:
        return True
    before = {f.check for f in known.last_findings.findings if f.outcome not in GOOD} if known.last_findings else set()
    return all(f.severity is Severity.MINOR and f.check in before for f in bad) and not _unproven(known, roles)


def _unproven(known: PlanInput, roles: tuple[str, ...]) -> bool:
    return bool(set(roles) - {f.role for f in known.findings.findings})


def _failing(findings: NodeFindings | None) -> frozenset[str]:
    return frozenset(f.check for f in findings.findings if f.outcome is Outcome.FAIL) if findings else frozenset()


def _code(reasons: Iterable[Reason]) -> ExitCode:
    return worst([EXIT_CODES[r.kind] for r in reasons])


def _plan(
    known: PlanInput,
    action: PlannedAction,
    why: str,
    *,
    roles: tuple[str, ...] = (),
    reasons: tuple[Reason, ...] = (),
    exit_code: ExitCode = ExitCode.OK,
) -> NodePlan:
    failing = [f for f in known.findings.findings if f.outcome is Outcome.FAIL]
    beyond = [_beyond_role(f, known.traits) for f in failing]
    return NodePlan(
        node=known.node.name,
        action=action,
        state=known.record.state,
        why=why,
        status=known.findings.status,
        detail=known.findings.detail,
        roles=roles,
        asserting=_asserting(known.findings, known.traits) & set(roles),
        changes=tuple(_change(f) for f, b in zip(failing, beyond, strict=True) if not b),
        beyond_roles=tuple(_change(f) for f, b in zip(failing, beyond, strict=True) if b),
        unknown=tuple(UnknownCheck(f.role, f.check, f.reason) for f in known.findings.findings if f.outcome is Outcome.COULD_NOT_RUN),
        reasons=reasons,
        exit_code=exit_code,
        simulated=bool(reasons) and any(r.simulated for r in known.last_results),
    )


def _change(finding: Finding) -> Change:
    return Change(finding.role, finding.check, finding.found, finding.expected, finding.severity.value)
