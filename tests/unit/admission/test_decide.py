"""Who may serve: cases as a table, and the laws that hold for any evidence."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.core.admission.decide import decide_admission
from clusterctl.model.findings import NodeFindings, NodeStatus
from clusterctl.model.gate_result import GateResult, Outcome
from clusterctl.model.playbook_result import HostOutcome, HostStatus, TaskFailure
from clusterctl.model.state import State
from clusterctl.model.verdict import EXIT_CODES, NodeVerdict, ReasonKind
from clusterctl_validators.finding import GOOD, Finding, Severity
from support.stores import a_finding, a_result, findings

NAME = "r12-n01"
ROLES, GATES = ("hugepages", "kernel"), ("rdma_pair", "dcgm_diag")
KERNEL = Finding("kernel.cmdline.running", "kernel", Outcome.PASS, Severity.CRITICAL)
K = ReasonKind


@dataclass(frozen=True)
class Evidence:
    findings: NodeFindings | None = None
    results: tuple[GateResult, ...] = ()
    outcome: HostOutcome | None = None


GOOD_EVIDENCE = Evidence(
    findings(a_finding(), KERNEL), (a_result(), a_result(gate="dcgm_diag", device="")), HostOutcome(NAME, HostStatus.OK, ok=3)
)


def judged(evidence: Evidence, roles: tuple[str, ...] = ROLES, gates: tuple[str, ...] = GATES) -> NodeVerdict:
    return decide_admission(
        NAME,
        expected_roles=roles,
        expected_gates=gates,
        findings=evidence.findings,
        gate_results=evidence.results,
        outcome=evidence.outcome,
    )


def with_finding(finding: Finding) -> Evidence:
    return replace(GOOD_EVIDENCE, findings=findings(a_finding(), KERNEL, finding))


def with_results(*results: GateResult) -> Evidence:
    return replace(GOOD_EVIDENCE, results=results)


def test_complete_passing_evidence_admits() -> None:
    verdict = judged(GOOD_EVIDENCE)
    assert (verdict.admit, verdict.state, verdict.reasons, verdict.summary) == (True, State.BURNED_IN, (), "")


FAILED = TaskFailure("Set the kernel command line", "kernel", "no space left on device")
DCGM = a_result(gate="dcgm_diag", device="")
CASES: dict[str, tuple[Evidence, ReasonKind, str]] = {
    "nothing at all": (Evidence(), K.ROLES_MISSING, "not applied"),
    "no role outcome": (replace(GOOD_EVIDENCE, outcome=None), K.ROLES_MISSING, "not applied"),
    "outcome of another node": (replace(GOOD_EVIDENCE, outcome=HostOutcome("r12-n02", HostStatus.OK)), K.ROLES_MISSING, "not applied"),
    "not processed": (replace(GOOD_EVIDENCE, outcome=HostOutcome(NAME, HostStatus.NOT_PROCESSED)), K.ROLE_FAILED, "never reached"),
    "role failed": (
        replace(GOOD_EVIDENCE, outcome=HostOutcome(NAME, HostStatus.FAILED, failures=(FAILED,))),
        K.ROLE_FAILED,
        "no space left",
    ),
    "role failed silently": (replace(GOOD_EVIDENCE, outcome=HostOutcome(NAME, HostStatus.FAILED)), K.ROLE_FAILED, "did not report where"),
    "ok with a failure": (replace(GOOD_EVIDENCE, outcome=HostOutcome(NAME, HostStatus.OK, failures=(FAILED,))), K.ROLE_FAILED, "no space"),
    "unreachable": (replace(GOOD_EVIDENCE, outcome=HostOutcome(NAME, HostStatus.UNREACHABLE)), K.UNREACHABLE, "unreachable"),
    "never validated": (replace(GOOD_EVIDENCE, findings=None), K.CHECKS_MISSING, "not validated"),
    "findings of another node": (
        replace(GOOD_EVIDENCE, findings=findings(a_finding(), KERNEL, node="r12-n02")),
        K.CHECKS_MISSING,
        "not val",
    ),
    "validation timed out": (
        replace(GOOD_EVIDENCE, findings=findings(a_finding(), KERNEL, status=NodeStatus.TIMED_OUT, detail="60 s")),
        K.CHECKS_MISSING,
        "timed_out: 60 s",
    ),
    "unreachable for validation": (
        replace(GOOD_EVIDENCE, findings=findings(a_finding(), KERNEL, status=NodeStatus.UNREACHABLE)),
        K.UNREACHABLE,
        "unreachable",
    ),
    "a role without findings": (replace(GOOD_EVIDENCE, findings=findings(a_finding())), K.CHECKS_MISSING, "role kernel"),
    "a role with only a minor failure": (
        replace(GOOD_EVIDENCE, findings=findings(a_finding(), replace(KERNEL, outcome=Outcome.FAIL, severity=Severity.MINOR))),
        K.CHECKS_MISSING,
        "role kernel",
    ),
    "a check failed": (with_finding(a_finding(Outcome.FAIL)), K.CHECK_FAILED, "found 8, expected 16"),
    "a critical check could not run": (
        with_finding(a_finding(Outcome.COULD_NOT_RUN, Severity.CRITICAL)),
        K.CHECK_COULD_NOT_RUN,
        "could not run",
    ),
    "a check of an unexpected role failed": (
        with_finding(Finding("bios.smt", "bios", Outcome.FAIL, Severity.MAJOR, "off", "on")),
        K.CHECK_FAILED,
        "bios.smt",
    ),
    "a gate failed": (with_results(a_result(Outcome.FAIL), DCGM), K.GATE_FAILED, "rdma_pair mlx5_3: bandwidth_average 98.1 Gb/s"),
    "a gate failed on one of two HCAs": (with_results(a_result(Outcome.FAIL), a_result(device="mlx5_0"), DCGM), K.GATE_FAILED, "mlx5_3"),
    "a gate could not run": (
        with_results(a_result(), a_result(Outcome.COULD_NOT_RUN, device="x"), DCGM),
        K.GATE_COULD_NOT_RUN,
        "could not run",
    ),
    "a gate without result": (with_results(a_result()), K.GATE_MISSING, "dcgm_diag has no result"),
    "a gate of another node": (with_results(a_result(), replace(DCGM, node="r12-n02")), K.GATE_MISSING, "dcgm_diag has no result"),
    "a gate that does not apply proves nothing": (
        with_results(a_result(), replace(DCGM, outcome=Outcome.NOT_APPLICABLE)),
        K.GATE_MISSING,
        "no passing result",
    ),
    "an unexpected gate failed": (with_results(a_result(), DCGM, a_result(Outcome.FAIL, gate="nccl_node")), K.GATE_FAILED, "nccl_node"),
}


@pytest.mark.parametrize("name", CASES)
def test_kept_out(name: str) -> None:
    evidence, kind, text = CASES[name]
    verdict = judged(evidence)
    assert (verdict.admit, verdict.state) == (False, State.QUARANTINED)
    told = [r for r in verdict.reasons if r.kind is kind and text in r.text]
    assert told, verdict.reasons
    assert verdict.summary.startswith(verdict.reasons[0].text)


def test_nothing_expected_proves_nothing() -> None:
    assert [r.kind for r in judged(GOOD_EVIDENCE, roles=()).reasons] == [K.CHECKS_MISSING]
    assert [r.kind for r in judged(GOOD_EVIDENCE, gates=()).reasons] == [K.GATE_MISSING]


@pytest.mark.parametrize("outcome", [Outcome.FAIL, Outcome.COULD_NOT_RUN])
def test_a_minor_finding_is_a_note(outcome: Outcome) -> None:
    verdict = judged(with_finding(a_finding(outcome, Severity.MINOR)))
    assert verdict.admit
    assert len(verdict.notes) == 1


def test_a_waiver_lets_pass() -> None:
    assert judged(with_finding(a_finding(Outcome.WAIVED, Severity.CRITICAL))).admit
    assert judged(with_results(a_result(Outcome.WAIVED), DCGM)).admit


def test_a_warning_is_a_note_and_keeps_no_node_out() -> None:
    verdict = judged(with_results(a_result(Outcome.WARN), DCGM))
    assert verdict.admit
    assert [(n.kind, n.device) for n in verdict.notes] == [(K.GATE_WARNED, "mlx5_3")]
    warned = judged(with_finding(a_finding(Outcome.WARN, Severity.MAJOR)))
    assert warned.admit
    assert [n.kind for n in warned.notes] == [K.CHECK_WARNED]


def test_the_reason_names_the_device_and_what_to_do() -> None:
    reason = judged(with_results(a_result(Outcome.FAIL), DCGM)).reasons[0]
    assert (reason.device, reason.hint) == ("mlx5_3", "check the cable of mlx5_3")
    assert "[vendor data sheet]" in reason.text
    assert int(EXIT_CODES[reason.kind]) == 7


def test_every_kind_has_an_exit_code() -> None:
    assert set(EXIT_CODES) == set(ReasonKind)


outcomes, severities = st.sampled_from(Outcome), st.sampled_from(Severity)
some_findings = st.builds(Finding, st.just("a.b"), st.sampled_from((*ROLES, "other")), outcomes, severities)
some_results = st.builds(GateResult, st.sampled_from((*GATES, "other")), st.sampled_from((NAME, "r12-n02")), outcomes, st.just("floor"))
evidence = st.builds(
    Evidence,
    st.none()
    | st.builds(
        NodeFindings, st.just(NAME), st.sampled_from(NodeStatus), st.just(""), st.lists(some_findings, max_size=4).map(tuple), st.just(1.0)
    ),
    st.lists(some_results, max_size=4).map(tuple),
    st.none() | st.builds(HostOutcome, st.just(NAME), st.sampled_from(HostStatus)),
) | st.just(GOOD_EVIDENCE)


@given(evidence)
def test_admission_needs_every_proof(given_evidence: Evidence) -> None:
    verdict = judged(given_evidence)
    assert verdict.admit == (not verdict.reasons)
    if verdict.admit:
        found, own = given_evidence.findings, [r for r in given_evidence.results if r.node == NAME]
        assert found is not None
        assert found.status is NodeStatus.OK
        assert {f.role for f in found.findings if f.outcome in GOOD} >= set(ROLES)
        assert all(f.outcome in GOOD or f.severity is Severity.MINOR for f in found.findings)
        assert {r.gate for r in own if r.outcome in {Outcome.PASS, Outcome.WARN, Outcome.WAIVED}} >= set(GATES)
        assert all(r.outcome in GOOD for r in own)
        assert given_evidence.outcome is not None
        assert given_evidence.outcome.status is HostStatus.OK


@given(evidence, st.data())
def test_taking_good_evidence_away_never_admits(given_evidence: Evidence, data: st.DataObject) -> None:
    if judged(given_evidence).admit:
        return
    found = given_evidence.findings
    bad = tuple(f for f in found.findings if f.outcome not in GOOD) if found else ()
    good = [f for f in found.findings if f.outcome in GOOD] if found else []
    kept = tuple(data.draw(st.lists(st.sampled_from(good), unique_by=id, max_size=len(good)))) if good else ()
    less = Evidence(
        replace(found, findings=bad + kept) if found and data.draw(st.booleans()) else None,
        tuple(r for r in given_evidence.results if r.outcome not in GOOD or data.draw(st.booleans())),
        given_evidence.outcome if data.draw(st.booleans()) else None,
    )
    assert not judged(less).admit


@given(evidence, some_findings, some_results)
def test_adding_failing_evidence_never_admits(given_evidence: Evidence, finding: Finding, result: GateResult) -> None:
    before = judged(given_evidence).admit
    worse = replace(given_evidence, results=(*given_evidence.results, replace(result, node=NAME, outcome=Outcome.FAIL)))
    assert not judged(worse).admit
    if given_evidence.findings is not None:
        bad = replace(finding, outcome=Outcome.COULD_NOT_RUN)
        more = replace(given_evidence, findings=replace(given_evidence.findings, findings=(*given_evidence.findings.findings, bad)))
        assert not judged(more).admit or (before and bad.severity is Severity.MINOR)


@given(evidence)
def test_the_order_of_evidence_does_not_matter(given_evidence: Evidence) -> None:
    found = given_evidence.findings
    turned = Evidence(
        replace(found, findings=found.findings[::-1]) if found else None, given_evidence.results[::-1], given_evidence.outcome
    )
    assert judged(turned).admit == judged(given_evidence).admit
