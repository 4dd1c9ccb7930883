"""What fails alike on more than half of the trays of an NVLink domain has its cause above them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.adapters.validator_declarations import read_traits
from clusterctl.core.admission.decide import decide_admission
from clusterctl.core.drift.compare import compare_nodes
from clusterctl.core.drift.policy import decide_actions, parse_policy
from clusterctl.core.rack_comparison import compared
from clusterctl.model.drift import DriftKind, Known
from clusterctl.model.findings import NodeFindings, NodeStatus
from clusterctl.model.state import State
from clusterctl.model.verdict import ReasonKind
from clusterctl_validators.finding import Finding, Outcome, Severity
from support.plain_yaml import load_yaml
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping

ROLE = "nvlink_domain"
RULE = read_traits(()).rack_rules[ROLE]
NAMED = "nvlink_domain.rack.switch_trays"
OWN_ACTION = "reset all GPUs"
CASES = load_yaml((ROOT / "tests/cases/rack_causes/cases.yml").read_text())


def tray(name: str, checks: Mapping[str, str]) -> NodeFindings:
    findings = tuple(Finding(c, c.partition(".")[0], Outcome.FAIL, Severity.CRITICAL, "18", f, OWN_ACTION) for c, f in checks.items())
    return NodeFindings(name, NodeStatus.OK, "", findings, 0.1)


def rack_of_case(case: Mapping[str, Any]) -> tuple[NodeFindings, ...]:
    failing = [checks["checks"] for checks in case["failing"] for _ in range(checks["count"])]
    nodes = [tray(f"t{i:02d}", failing[i] if i < len(failing) else {}) for i in range(case["target"] + case.get("stored", 0))]
    members, stored = nodes[: case["target"]], {n.node: n for n in nodes[case["target"] :]}
    declared = {
        "nvlink_domain_trays": case["trays"],
        "nvlink_domain_ready_min": 2,
        "nvlink_domain_cluster_uuid": "",
        "nvlink_domain_clique_id": "",
    }
    return compared(ROLE, RULE, members, {m.node: declared for m in members}, dict(stored))


@pytest.mark.parametrize("case", CASES, ids=lambda c: c["id"])
def test_alike_on_more_than_half_is_above_the_nodes(case: Mapping[str, Any]) -> None:
    found = rack_of_case(case)
    named = [f for m in found for f in m.findings if f.check == NAMED]
    assert len(named) == case["explained"]
    assert {f.found for f in named} == ({case["found"]} if named else set())
    assert {f.outcome for f in named} <= {Outcome.FAIL}
    assert sum(any(f.hint == OWN_ACTION for f in m.findings) for m in found) == case["blamed"]


def test_a_node_behind_it_is_held_and_refers_to_what_is_named() -> None:
    node = rack_of_case(CASES[0])[0]
    own = {f.check: f for f in node.findings}
    assert own[NAMED].reason.startswith("the same on 18 of 18 nodes")
    assert "switch trays" in own[NAMED].hint
    assert NAMED in own["hardware.gpu[0].nvlinks"].hint
    assert "reset" not in own["hardware.gpu[0].nvlinks"].hint
    assert own["hardware.gpu[0].nvlinks"].found == "16, down: 4, 5"
    verdict = decide_admission(node.node, findings=node, expected_roles=["hardware"], expected_gates=[], gate_results=(), outcome=None)
    assert not verdict.admit
    assert {r.kind for r in verdict.reasons if r.item} == {ReasonKind.CHECK_SHARED}


def test_a_node_with_a_fault_of_its_own_beside_it_is_held_for_that() -> None:
    node = rack_of_case(CASES[0])[0]
    own = Finding("hardware.gpu[3].ecc", "hardware", Outcome.FAIL, Severity.MAJOR, "0", "7", OWN_ACTION)
    both = replace(node, findings=(*node.findings, own))
    verdict = decide_admission(node.node, findings=both, expected_roles=["hardware"], expected_gates=[], gate_results=(), outcome=None)
    first = next(r for r in verdict.reasons if r.item)
    assert (first.kind, first.item) == (ReasonKind.CHECK_FAILED, own.check)


def test_it_stays_found_when_the_others_are_known_as_explained() -> None:
    before = rack_of_case(CASES[0])
    declared = {"nvlink_domain_trays": 18, "nvlink_domain_ready_min": 2, "nvlink_domain_cluster_uuid": "", "nvlink_domain_clique_id": ""}
    again = tray("t00", CASES[0]["failing"][0]["checks"])
    (found,) = compared(ROLE, RULE, [again], {"t00": declared}, {m.node: m for m in before[1:]})
    (named,) = [f for f in found.findings if f.check == NAMED]
    assert "17 of the others as stored" in named.reason


def test_an_admitted_node_behind_it_drifts_and_is_drained() -> None:
    """What was measured is no check that could not run: jobs on the node would fail."""
    nodes = rack_of_case(CASES[0])
    known = {n.node: Known(State.ADMITTED, "d1") for n in nodes}
    report = compare_nodes(nodes, known, dict.fromkeys(known, "d1"))
    assert {d.kind for d in report.deviations} == {DriftKind.DRIFT}
    assert decide_actions(report, parse_policy("critical=drain"), known, heal=False).drain == tuple(known)
