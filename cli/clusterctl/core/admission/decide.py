"""May a node serve? Pure and fail closed: whatever is missing, failed or could not run keeps it out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.core.finding_hint import named_hint
from clusterctl.core.repairs import repair_of_finding, repair_of_result
from clusterctl.model.findings import NodeStatus
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.playbook_result import HostStatus
from clusterctl.model.state import State
from clusterctl.model.verdict import NodeVerdict, Reason, ReasonKind
from clusterctl_validators.finding import GOOD, Outcome, Severity

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.gate_result import GateResult
    from clusterctl.model.playbook_result import HostOutcome
    from clusterctl_validators.finding import Finding


K = ReasonKind


def decide_admission(
    node: str,
    *,
    expected_roles: Collection[str],
    expected_gates: Collection[str],
    findings: NodeFindings | None,
    gate_results: Iterable[GateResult],
    outcome: HostOutcome | None,
) -> NodeVerdict:
    """Decide on one node. Evidence of other nodes is left aside.

    Every expected role needs a good finding, every expected gate a passing (or waived) result; at least one of each must be expected.
    A finding or result that failed or could not run keeps the node out, expected or not; only findings of minor severity do not.
    Warnings are noted and keep no node out.
    `outcome` is what applying the roles came to: a node where nothing had to be applied has the outcome `ok`.
    A node that booted since it was measured is out, too: what was changed while it was off is unknown.
    """
    results = tuple(gate_results)
    own = findings if findings is not None and findings.node == node else None
    configuration = configuration_reasons(node, expected_roles=expected_roles, findings=findings, outcome=outcome)
    measured = (*gate_reasons(node, results, expected_gates), *_booted_since(own, [r for r in results if r.node == node]))
    reasons = tuple(sorted((*configuration, *measured), key=_rank))
    notes = (*_checks(own, {Severity.MINOR}), *_warnings(own, [r for r in results if r.node == node]))
    return NodeVerdict(node, not reasons, State.QUARANTINED if reasons else State.BURNED_IN, reasons, notes)


def configuration_reasons(
    node: str, *, expected_roles: Collection[str], findings: NodeFindings | None, outcome: HostOutcome | None
) -> tuple[Reason, ...]:
    """What keeps a node out before any gate: roles that failed or were not applied, checks that failed, could not run or are missing."""
    own = findings if findings is not None and findings.node == node else None
    blocking = (*_apply(outcome, node), *_checks(own, set(Severity) - {Severity.MINOR}), *_checks_missing(own, expected_roles, node))
    return tuple(sorted(blocking, key=_rank))


def gate_reasons(node: str, gate_results: Iterable[GateResult], expected_gates: Collection[str]) -> tuple[Reason, ...]:
    """What keeps a node out after burn-in: gates that failed, could not run or are missing."""
    results = tuple(r for r in gate_results if r.node == node)
    return tuple(sorted((*_gates(results), *_gates_missing(results, expected_gates, node)), key=_rank))


def _booted_since(findings: NodeFindings | None, results: Collection[GateResult]) -> Iterator[Reason]:
    boots = {r.boot_id for r in results if r.boot_id}
    if findings is not None and findings.boot_id and boots and findings.boot_id not in boots:
        hint = f"run `clusterctl burnin {findings.node}`, or `clusterctl admit {findings.node} --on-record --reason WHY` if nothing was changed"
        yield Reason(K.GATE_MISSING, "it booted since it was measured, so what was measured may be another machine", hint=hint)


_ORDER = (
    K.POOL_UNKNOWN,
    K.REFUSED,
    K.UNREACHABLE,
    K.ROLE_FAILED,
    K.GATE_FAILED,
    K.CHECK_FAILED,
    K.GATE_SHARED,
    K.CHECK_SHARED,
    K.GATE_COULD_NOT_RUN,
    K.CHECK_COULD_NOT_RUN,
    K.ROLES_MISSING,
    K.CHECKS_MISSING,
    K.GATE_MISSING,
)


def _rank(reason: Reason) -> int:
    return _ORDER.index(reason.kind)


def _apply(outcome: HostOutcome | None, node: str) -> Iterator[Reason]:
    if outcome is None or outcome.node != node:
        yield Reason(K.ROLES_MISSING, "its roles were not applied since it was last touched", hint=f"run `clusterctl provision {node}`")
    elif outcome.status is HostStatus.NOT_PROCESSED:
        yield Reason(K.ROLE_FAILED, "the play that applies its roles never reached it", hint=f"run `clusterctl provision {node}`")
    elif outcome.status is HostStatus.UNREACHABLE:
        yield Reason(K.UNREACHABLE, "unreachable while roles were applied", hint="check its network, SSH and BMC")
    elif outcome.status is not HostStatus.OK or outcome.failures:
        for failure in outcome.failures:
            text = f"role {failure.role}: {failure.task}: {failure.message}"
            yield Reason(K.ROLE_FAILED, text, hint="the full output is in the run directory", item=failure.role)
        if not outcome.failures:
            yield Reason(K.ROLE_FAILED, "a role failed and did not report where", hint="the full output is in the run directory")


def _checks(findings: NodeFindings | None, severities: set[Severity]) -> Iterator[Reason]:
    for finding, hint in _hinted(findings):
        if finding.outcome not in GOOD and finding.severity in severities:
            failed = K.CHECK_SHARED if finding.above else K.CHECK_FAILED
            kind = failed if finding.outcome is Outcome.FAIL else K.CHECK_COULD_NOT_RUN
            yield Reason(kind, _finding_text(finding), hint=hint, item=finding.check, repair=repair_of_finding(finding))


def _warnings(findings: NodeFindings | None, results: Iterable[GateResult]) -> Iterator[Reason]:
    for finding, hint in _hinted(findings):
        if finding.outcome is Outcome.WARN:
            yield Reason(K.CHECK_WARNED, _finding_text(finding), hint=hint, item=finding.check, repair=repair_of_finding(finding))
    for result in results:
        if result.outcome is Outcome.WARN:
            yield _of_result(K.GATE_WARNED, result)


def _hinted(findings: NodeFindings | None) -> Iterator[tuple[Finding, str]]:
    return ((f, named_hint(f, findings.node)) for f in findings.findings) if findings else iter(())


def _finding_text(finding: Finding) -> str:
    if finding.outcome is not Outcome.COULD_NOT_RUN:
        return f"{finding.check}: found {finding.found or 'nothing'}, expected {finding.expected}"
    return f"{finding.check}: could not run: {finding.reason or 'no reason given'}"


def _checks_missing(findings: NodeFindings | None, expected_roles: Collection[str], node: str) -> Iterator[Reason]:
    if findings is None:
        yield Reason(K.CHECKS_MISSING, "it was not validated since it was last touched", hint=f"run `clusterctl validate {node}`")
        return
    if findings.status is not NodeStatus.OK:
        kind = K.UNREACHABLE if findings.status is NodeStatus.UNREACHABLE else K.CHECKS_MISSING
        what = f"validation ended with {findings.status}"
        yield Reason(kind, f"{what}: {findings.detail}" if findings.detail else what, hint=f"run `clusterctl validate {node}` again")
        return
    # A role whose failure is listed already needs no second reason; a minor failure alone proves nothing and blocks nothing.
    seen = {f.role for f in findings.findings if f.outcome in GOOD or f.severity is not Severity.MINOR}
    for role in sorted(r for r in expected_roles if r not in seen):
        yield Reason(K.CHECKS_MISSING, f"no check of role {role} passed", hint=f"is there a validator test_{role}.py?")
    if not expected_roles:
        yield Reason(K.CHECKS_MISSING, "no role is expected of it, so nothing is proven", hint="declare node_roles in its profile")


def _gates(results: Collection[GateResult]) -> Iterator[Reason]:
    for result in results:
        if result.outcome not in GOOD:
            failed = K.GATE_SHARED if result.reason is GateReason.SHARED_FAULT else K.GATE_FAILED
            kind = failed if result.outcome is Outcome.FAIL else K.GATE_COULD_NOT_RUN
            yield _of_result(kind, result)


def _of_result(kind: ReasonKind, result: GateResult) -> Reason:
    return Reason(kind, gate_text(result), device=result.device, hint=result.hint, item=result.gate, repair=repair_of_result(result))


def gate_text(result: GateResult) -> str:
    """A gate result as one line: `rdma_pair mlx5_3: bandwidth 98 Gb/s, expected >= 180 Gb/s [source]; its partners were fine with others`."""
    where = f"{result.gate} {result.device}".rstrip()
    if result.outcome is Outcome.COULD_NOT_RUN:
        return f"{where}: could not run ({result.rule}): {result.detail or result.found or 'no reason given'}"
    source = f" [{result.source}]" if result.source else ""
    found = f"{result.metric or result.rule} {result.found}".strip()
    detail = f"; {result.detail}" if result.detail else ""
    return f"{where}: {found}" + (f", expected {result.expected}" if result.expected else "") + source + detail


def _gates_missing(results: Collection[GateResult], expected_gates: Collection[str], node: str) -> Iterator[Reason]:
    judged = {r.gate for r in results if r.outcome is not Outcome.NOT_APPLICABLE or r.observed}
    seen = {r.gate for r in results}
    for gate in sorted(g for g in expected_gates if g not in judged):
        what = "has no passing result" if gate in seen else "has no result since the node was last touched"
        yield Reason(K.GATE_MISSING, f"{gate} {what}", hint=f"run `clusterctl burnin {node}`; its profile expects {gate}", item=gate)
    if not expected_gates:
        yield Reason(K.GATE_MISSING, "no gate is expected of it, so nothing is proven", hint="declare gates_levels in its profile")
