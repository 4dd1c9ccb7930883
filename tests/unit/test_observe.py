"""An observed check, gate or rule is recorded and shown, and decides nothing."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.core.admission.decide import decide_admission
from clusterctl.core.drift.compare import compare_nodes
from clusterctl.core.observe import (
    ALWAYS_DECIDES,
    Observation,
    deciding_gates,
    entry_problems,
    observe_findings,
    observe_results,
    parse_observations,
)
from clusterctl.core.plan import PlanInput, make_plan
from clusterctl.core.waivers import Waiver, apply_waivers, matches
from clusterctl.model.drift import Known
from clusterctl.model.errors import ConfigError
from clusterctl.model.findings import NodeFindings, NodeStatus, findings_exit_code
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, gates_exit_code
from clusterctl.model.node import Connection, Node, NodeSpec, Place
from clusterctl.model.playbook_result import HostOutcome, HostStatus
from clusterctl.model.provision import ProvisionOptions
from clusterctl.model.records import NodeRecord
from clusterctl.model.state import State
from clusterctl.model.validator_traits import ValidatorTraits
from clusterctl_validators.finding import GOOD, Finding, Outcome, Severity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.model.verdict import NodeVerdict

N = "n1"
ROLES, GATES, RULES = ("kernel", "roce"), ("dcgm_diag", "gpu_stress"), ("floor", "peers")
OBSERVED = (
    Observation("new", check="roce.mtu*"),
    Observation("too flappy", gate="gpu_stress"),
    Observation("new", gate="dcgm_diag", rule="peers"),
)
MEASURED = (Outcome.PASS, Outcome.WARN, Outcome.FAIL, Outcome.COULD_NOT_RUN, Outcome.NOT_APPLICABLE)
checks = st.sampled_from(["kernel.release", "kernel.mtu", "roce.mtu[0]", "roce.mtu[1]", "roce.link"])
findings = st.lists(
    st.builds(
        lambda check, outcome, severity: Finding(check, check.partition(".")[0], outcome, severity, "1", "0"),
        checks,
        st.sampled_from(MEASURED),
        st.sampled_from(Severity),
    ),
    unique_by=lambda f: f.check,
)
results = st.lists(
    st.builds(
        lambda gate, rule, outcome, reason: GateResult(gate, N, outcome, rule, reason=None if outcome is Outcome.PASS else reason),
        st.sampled_from(GATES),
        st.sampled_from(RULES),
        st.sampled_from(MEASURED),
        st.sampled_from([GateReason.BELOW_FLOOR, GateReason.WRONG_RESULTS, GateReason.NO_RECORD, None]),
    ),
    max_size=6,
)


def is_observed_check(f: Finding) -> bool:
    return f.severity is not Severity.CRITICAL and any(o.check and matches(o.check, f.check) for o in OBSERVED)


def is_observed_result(r: GateResult) -> bool:
    return r.reason not in ALWAYS_DECIDES and any(o.gate == r.gate and o.rule in ("", r.rule) for o in OBSERVED)


def verdict(found: Sequence[Finding], measured: Sequence[GateResult]) -> NodeVerdict:
    return decide_admission(
        N,
        expected_roles=ROLES,
        expected_gates=deciding_gates(GATES, OBSERVED),
        findings=NodeFindings(N, NodeStatus.OK, "", observe_findings(found, OBSERVED), 0.1),
        gate_results=observe_results(measured, OBSERVED),
        outcome=HostOutcome(N, HostStatus.OK),
    )


def plan(found: Sequence[Finding], measured: Sequence[GateResult], state: State) -> object:
    node = Node(N, (), Connection(N), Place(), NodeSpec({r: {} for r in ROLES}, {}, (), "d1"))
    record = NodeRecord(N, "", 1, (), state, "", "d1", "", "", "", "d1")
    said = NodeFindings(N, NodeStatus.OK, "", observe_findings(found, OBSERVED), 0.1)
    gates = deciding_gates(GATES, OBSERVED)
    known = PlanInput(node, record, said, said, observe_results(measured, OBSERVED), gates, recorded_gates=frozenset(gates))
    (one,) = make_plan([known], ProvisionOptions(), ValidatorTraits()).nodes
    return one.action, one.roles, one.changes, one.unknown, one.reasons, one.exit_code, one.check_code


def drift(found: Sequence[Finding]) -> object:
    said = NodeFindings(N, NodeStatus.OK, "", observe_findings(found, OBSERVED), 0.1)
    report = compare_nodes([said], {N: Known(State.ADMITTED, "d1")}, {N: "d1"})
    return report.deviations, report.exit_code


@given(findings, results, st.data(), st.sampled_from([State.ADMITTED, State.QUARANTINED, State.VALIDATED, State.REGISTERED]))
def test_no_outcome_of_what_is_observed_changes_any_decision(
    found: list[Finding], measured: list[GateResult], data: st.DataObject, state: State
) -> None:
    def other(one: object) -> Outcome:
        return data.draw(st.sampled_from(MEASURED), label=str(one))

    changed = [replace(f, outcome=other(f), found="9") if is_observed_check(f) else f for f in found]
    again = [replace(r, outcome=other(r), found="9") if is_observed_result(r) else r for r in measured]
    one, two = verdict(found, measured), verdict(changed, again)
    assert (one.admit, one.state, one.reasons) == (two.admit, two.state, two.reasons)
    assert plan(found, measured, state) == plan(changed, again, state)
    assert drift(found) == drift(changed)
    assert gates_exit_code(observe_results(measured, OBSERVED)) == gates_exit_code(observe_results(again, OBSERVED))
    codes = [findings_exit_code([NodeFindings(N, NodeStatus.OK, "", observe_findings(f, OBSERVED), 0.1)]) for f in (found, changed)]
    assert codes[0] == codes[1]


@given(findings, results)
def test_what_is_not_observed_is_as_before_and_what_is_keeps_its_outcome(found: list[Finding], measured: list[GateResult]) -> None:
    for before, after in zip(found, observe_findings(found, OBSERVED), strict=True):
        assert after.observed == before.outcome.value if is_observed_check(before) else after is before
        assert after.outcome in GOOD or after is before
    for result, marked in zip(measured, observe_results(measured, OBSERVED), strict=True):
        assert marked.observed is result.outcome if is_observed_result(result) else marked is result
    assert observe_results(observe_results(measured, OBSERVED), OBSERVED) == observe_results(measured, OBSERVED)


@given(findings, results)
def test_every_expected_gate_needs_a_result_of_its_own_all_the_same(found: list[Finding], measured: list[GateResult]) -> None:
    if verdict(found, measured).admit:
        assert set(deciding_gates(GATES, OBSERVED)) <= {r.gate for r in measured}


@pytest.mark.parametrize("reason", sorted(ALWAYS_DECIDES))
def test_what_a_job_would_pay_for_decides_always(reason: GateReason) -> None:
    bad = GateResult("gpu_stress", N, Outcome.FAIL, "floor", reason=reason)
    assert observe_results([bad], OBSERVED) == (bad,)
    assert not verdict([], [bad]).admit


def test_a_critical_check_decides_always_and_needs_a_waiver() -> None:
    bad = Finding("roce.mtu[0]", "roce", Outcome.FAIL, Severity.CRITICAL)
    assert observe_findings([bad], OBSERVED) == (bad,)


def test_an_observed_finding_needs_no_waiver() -> None:
    (seen,) = observe_findings([Finding("roce.mtu[0]", "roce", Outcome.FAIL, Severity.MAJOR)], OBSERVED)
    waiver = Waiver("roce.*", "why", "who", date(2030, 1, 1))
    assert apply_waivers([seen], [waiver], date(2026, 1, 1)) == (seen,)
    assert "observed, so it does not decide: new" in seen.reason


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("roce", "not a mapping"),
        ({"check": "roce.*"}, "reason is missing"),
        ({"reason": "why"}, "either check or gate"),
        ({"check": "a", "gate": "b", "reason": "why"}, "either check or gate"),
        ({"check": "a", "rule": "floor", "reason": "why"}, "rule is of a gate"),
        ({"gate": "", "reason": "why"}, "is not text"),
        ({"gate": "b", "reason": "why", "owner": "me"}, "owner is not a key"),
        ({"gate": 3, "reason": "why"}, "is not text"),
    ],
)
def test_entries_that_observe_nothing(entry: object, problem: str) -> None:
    assert any(problem in p for p in entry_problems(entry))
    if isinstance(entry, dict):
        with pytest.raises(ConfigError, match="observe"):
            parse_observations([entry], N)
