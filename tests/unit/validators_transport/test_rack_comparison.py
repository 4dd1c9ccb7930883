"""Members of an NVLink domain, compared with each other."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from clusterctl.adapters.validator_declarations import read_traits
from clusterctl.adapters.validators import ValidationSettings
from clusterctl.adapters.validators.rack_members import members_outside
from clusterctl.core.admission.decide import decide_admission
from clusterctl.core.rack_comparison import Group, Others, RackRound
from clusterctl.core.rack_comparison import compared as compared_by_rule
from clusterctl.model.findings import NodeFindings, NodeStatus
from clusterctl.model.node import Connection, Node, NodeSpec, Place
from clusterctl.model.verdict import ReasonKind
from clusterctl_validators.finding import Finding, Outcome, Severity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

ROLE = "nvlink_domain"
RULES = read_traits(()).rack_rules
ONE, TWO = "cb23b835-48e3-4e55-b85e-c437ec8fe7f5", "0aa1e5b2-1111-4e55-b85e-c437ec8fe7f5"


def member(node: str, uuid: str | None = ONE, clique: str = "32766") -> NodeFindings:
    """The findings of a member; without `uuid` those of one that could not query its GPUs."""
    rows = {"cluster_uuid": uuid, "clique_id": clique if uuid else None}
    findings = tuple(
        Finding(f"nvlink_domain.{k}", "nvlink_domain", Outcome.PASS if v else Outcome.COULD_NOT_RUN, Severity.CRITICAL, "one", v or "")
        for k, v in rows.items()
    )
    return NodeFindings(node, NodeStatus.OK, "", findings, 0.1)


SPEC = {"nvlink_domain_trays": 18, "nvlink_domain_ready_min": 2, "nvlink_domain_cluster_uuid": "", "nvlink_domain_clique_id": ""}


def compared(members: Sequence[NodeFindings], specs: Mapping[str, Mapping[str, Any]], others: Others) -> tuple[NodeFindings, ...]:
    return compared_by_rule(ROLE, RULES[ROLE], members, specs, others)


def rack_checks(members: list[NodeFindings], others: dict[str, NodeFindings | None] | None = None, **spec: Any) -> dict[str, Finding]:
    """The findings over the rack by `node fact`."""
    return {
        f"{m.node} {f.check.removeprefix('nvlink_domain.rack.')}": f
        for m in compared(members, {m.node: {**SPEC, **spec} for m in members}, others or {})
        for f in m.findings
        if f.check.startswith("nvlink_domain.rack.")
    }


def rack_findings(members: list[NodeFindings], others: dict[str, NodeFindings | None] | None = None, **spec: Any) -> dict[str, str]:
    return {name: f.outcome.value for name, f in rack_checks(members, others, **spec).items()}


def unreachable(node: str) -> NodeFindings:
    return NodeFindings(node, NodeStatus.UNREACHABLE, "no route to host", (), 0.1)


def test_members_of_one_domain_pass() -> None:
    found = rack_findings([member(f"n{i}") for i in range(18)], nvlink_domain_ready_min=18)
    assert len(found) == 36
    assert set(found.values()) == {"pass"}


@pytest.mark.parametrize(
    ("members", "bad"),
    [
        ([member("a"), member("b"), member("c", TWO)], {"c cluster_uuid"}),
        ([member("a"), member("b", clique="1"), member("c")], {"b clique_id"}),
        ([member("a"), member("b", TWO)], {"a cluster_uuid", "b cluster_uuid"}),
        ([member("a"), member("b", None), member("c")], set()),
        ([member("a", f"{ONE}, {TWO}"), member("b"), member("c")], {"a cluster_uuid"}),
    ],
)
@pytest.mark.parametrize("ready", [2, 18])
def test_a_differing_member_fails_however_few_are_known(members: list[NodeFindings], bad: set[str], ready: int) -> None:
    assert {k for k, v in rack_findings(members, nvlink_domain_ready_min=ready).items() if v == "fail"} == bad


@pytest.mark.parametrize("ready", [1, 2, 18])
def test_one_member_alone_proves_nothing_about_the_rack(ready: int) -> None:
    found = rack_checks([member("a"), member("b", None), unreachable("c"), unreachable("d")], nvlink_domain_ready_min=ready)
    assert {name: f.outcome for name, f in found.items()} == dict.fromkeys(["a cluster_uuid", "a clique_id"], Outcome.COULD_NOT_RUN)
    needed = max(2, ready)
    assert found["a clique_id"].reason == (
        f"1 of 18 nodes known, {needed} needed: b reported no valid value; c, d did not answer; 14 not in the inventory"
    )
    assert found["a clique_id"].severity is Severity.CRITICAL
    assert "nvlink_domain_ready_min" in found["a clique_id"].hint


def test_a_tray_of_an_unknown_rack_is_not_admitted() -> None:
    (found,) = compared([member("a")], {"a": SPEC}, {})
    rest: dict[str, Any] = {"expected_roles": ["nvlink_domain"], "expected_gates": [], "gate_results": (), "outcome": None}
    verdict = decide_admission("a", findings=found, **rest)
    kept_out = [r.text for r in verdict.reasons if r.kind is ReasonKind.CHECK_COULD_NOT_RUN]
    assert [text.partition(":")[0] for text in kept_out] == ["nvlink_domain.rack.cluster_uuid", "nvlink_domain.rack.clique_id"]
    assert not verdict.admit
    (found,) = compared([member("a")], {"a": SPEC}, {"b": member("b")})
    verdict = decide_admission("a", findings=found, **rest)
    assert not [r for r in verdict.reasons if r.kind is ReasonKind.CHECK_COULD_NOT_RUN]


def test_the_site_decides_on_a_rack_with_a_tray_out_of_service() -> None:
    members = [*(member(f"n{i:02d}") for i in range(17)), unreachable("n17")]
    assert set(rack_findings(members, nvlink_domain_ready_min=17).values()) == {"pass"}
    strict = rack_checks(members, nvlink_domain_ready_min=18)
    assert {f.outcome for f in strict.values()} == {Outcome.COULD_NOT_RUN}
    assert strict["n00 clique_id"].reason == "17 of 18 nodes known, 18 needed: n17 did not answer"


def test_a_long_list_of_missing_trays_is_shortened() -> None:
    reason = rack_checks([member("a"), *(unreachable(f"n{i:02d}") for i in range(17))])["a cluster_uuid"].reason
    assert reason == "1 of 18 nodes known, 2 needed: n00, n01, n02, n03, n04, n05 and 11 more did not answer"


def stored(**others: NodeFindings | None) -> dict[str, NodeFindings | None]:
    return others


def test_a_single_tray_is_compared_with_stored_values() -> None:
    others: dict[str, NodeFindings | None] = {f"n{i}": member(f"n{i}") for i in range(17)}
    found = rack_checks([member("a")], others, nvlink_domain_ready_min=18)
    assert {f.outcome for f in found.values()} == {Outcome.PASS}
    assert found["a cluster_uuid"].expected == f"{ONE}, as 18 of 18 nodes, 17 of them as stored"
    changed = rack_checks([member("a", TWO)], others, nvlink_domain_ready_min=18)
    assert (changed["a cluster_uuid"].outcome, changed["a clique_id"].outcome) == (Outcome.FAIL, Outcome.PASS)
    assert "stored values may be outdated" in changed["a cluster_uuid"].hint


@pytest.mark.parametrize(
    ("others", "words"),
    [
        (stored(), "17 not in the inventory"),
        (stored(b=None, c=None), "b, c not in the target, and nothing valid is stored; 15 not in the inventory"),
        (stored(b=unreachable("b")), "b not in the target, and no valid value is stored"),
        (stored(b=member("b", None)), "b not in the target, and no valid value is stored"),
    ],
)
def test_a_single_tray_names_the_missing_values(others: dict[str, NodeFindings | None], words: str) -> None:
    found = rack_checks([member("a")], others)
    assert {f.outcome for f in found.values()} == {Outcome.COULD_NOT_RUN}
    assert words in found["a clique_id"].reason


def test_a_pinned_value_needs_no_other_tray() -> None:
    found = rack_checks([member("a"), unreachable("b")], nvlink_domain_cluster_uuid=ONE)
    assert (found["a cluster_uuid"].outcome, found["a clique_id"].outcome) == (Outcome.NOT_APPLICABLE, Outcome.COULD_NOT_RUN)
    assert found["a cluster_uuid"].reason.startswith("nvlink_domain_cluster_uuid pins the value for every node; 1 of 18 nodes known")


def test_zeros_are_no_majority() -> None:
    zero = "00000000-0000-0000-0000-000000000000"
    refused = [
        NodeFindings(m.node, m.status, "", tuple(_failed(f) for f in m.findings), 0.1) for m in (member("a", zero), member("b", zero))
    ]
    found = rack_findings([*refused, member("c"), member("d")])
    assert found == {"c cluster_uuid": "pass", "d cluster_uuid": "pass", "c clique_id": "pass", "d clique_id": "pass"}


def _failed(finding: Finding) -> Finding:
    return replace(finding, outcome=Outcome.FAIL)


def test_without_any_value_there_is_no_finding() -> None:
    assert rack_findings([member("a", None)]) == {}


def node(name: str, rack: str, *roles: str, domain: str = "") -> Node:
    declared = {r: SPEC if r == "nvlink_domain" else {} for r in roles}
    return Node(name, ("profile_x",), Connection("192.0.2.1"), Place(rack=rack, nvlink_domain=domain), NodeSpec(declared, {}, (), "0"))


def test_results_wait_for_their_own_domain_only() -> None:
    nodes = [
        node("a", "r1", "nvlink_domain"),
        node("b", "r1", "nvlink_domain"),
        node("c", "r2", "nvlink_domain"),
        node("d", "r1", "kernel"),
    ]
    domains = RackRound(nodes, RULES)
    assert [f.node for f in domains.add(member("a"))] == []
    assert [f.node for f in domains.add(member("d"))] == ["d"]
    assert [f.node for f in domains.add(member("c"))] == ["c"]
    assert [f.node for f in domains.add(unreachable("b"))] == ["a", "b"]


def test_a_domain_may_be_named() -> None:
    domains = RackRound([node("a", "r1", "nvlink_domain", domain="x"), node("b", "r2", "nvlink_domain", domain="x")], RULES)
    assert domains.add(member("a", TWO)) == ()
    outcomes = {f.node: [g.outcome for g in f.findings if g.check == "nvlink_domain.rack.cluster_uuid"] for f in domains.add(member("b"))}
    assert outcomes == {"a": [Outcome.FAIL], "b": [Outcome.FAIL]}


def test_members_outside_the_target_come_from_the_inventory(tmp_path: Path) -> None:
    hosts = {f"{n}": {"rack": rack} for n, rack in (("a", "r1"), ("b", "r1"), ("c", "r1"), ("d", "r2"))}
    switch = {"r1-switch": {"rack": "r1"}}
    content = {"profile_x": {"hosts": hosts}, "switches": {"hosts": switch}}
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump(content))
    target = [node("a", "r1", "nvlink_domain")]
    found = members_outside(target, RULES, [tmp_path / "hosts.yml"], ValidationSettings(), {"b": member("b")}.get)
    assert found == {Group(ROLE, "r1"): {"b": member("b"), "c": None}}
    assert members_outside(target, RULES, [tmp_path / "hosts.yml"], ValidationSettings(), None) == {
        Group(ROLE, "r1"): {"b": None, "c": None}
    }
    assert members_outside(target, RULES, [tmp_path / "hosts.yml"], ValidationSettings(only=("kernel",)), None) == {}
    whole_rack = [node(f"n{i}", "r1", "nvlink_domain") for i in range(18)]
    assert members_outside(whole_rack, RULES, [tmp_path / "absent"], ValidationSettings(), None) == {}


def test_results_are_compared_with_members_outside_the_target() -> None:
    domains = RackRound([node("a", "r1", "nvlink_domain")], RULES, {Group(ROLE, "r1"): {"b": member("b", TWO)}})
    (found,) = domains.add(member("a"))
    assert [f.outcome for f in found.findings if f.check == "nvlink_domain.rack.cluster_uuid"] == [Outcome.FAIL]
