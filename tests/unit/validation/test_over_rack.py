"""Members of an NVLink domain, compared with each other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from clusterctl.findings import NodeFindings, NodeStatus
from clusterctl.node import Connection, Node, NodeSpec, Place
from clusterctl.validation.over_rack import DomainRound, compared
from clusterctl_validators.finding import Finding, Outcome, Severity

ONE, TWO = "cb23b835-48e3-4e55-b85e-c437ec8fe7f5", "0aa1e5b2-1111-4e55-b85e-c437ec8fe7f5"


def said(node: str, uuid: str | None = ONE, clique: str = "32766") -> NodeFindings:
    """An answer; without `uuid` of a node that could not ask its GPUs."""
    rows = {"cluster_uuid": uuid, "clique_id": clique if uuid else None}
    findings = tuple(
        Finding(f"nvlink_domain.{k}", "nvlink_domain", Outcome.PASS if v else Outcome.COULD_NOT_RUN, Severity.CRITICAL, "one", v or "")
        for k, v in rows.items()
    )
    return NodeFindings(node, NodeStatus.OK, "", findings, 0.1)


def rack_findings(members: list[NodeFindings]) -> dict[str, Any]:
    return {
        f"{m.node} {f.check.removeprefix('nvlink_domain.rack.')}": f.outcome.value
        for m in compared(members)
        for f in m.findings
        if f.check.startswith("nvlink_domain.rack.")
    }


def test_members_of_one_domain_pass() -> None:
    found = rack_findings([said(f"n{i}") for i in range(18)])
    assert len(found) == 36
    assert set(found.values()) == {"pass"}


@pytest.mark.parametrize(
    ("members", "bad"),
    [
        ([said("a"), said("b"), said("c", TWO)], {"c cluster_uuid"}),
        ([said("a"), said("b", clique="1"), said("c")], {"b clique_id"}),
        ([said("a"), said("b", TWO)], {"a cluster_uuid", "b cluster_uuid"}),
        ([said("a"), said("b", None), said("c")], set()),
        ([said("a", f"{ONE}, {TWO}"), said("b"), said("c")], {"a cluster_uuid"}),
    ],
)
def test_who_is_apart_is_told(members: list[NodeFindings], bad: set[str]) -> None:
    assert {k for k, v in rack_findings(members).items() if v == "fail"} == bad


def test_one_member_alone_proves_nothing_about_others() -> None:
    assert rack_findings([said("a"), said("b", None)]) == {"a cluster_uuid": "not_applicable", "a clique_id": "not_applicable"}


def test_zeros_are_no_majority() -> None:
    zero = "00000000-0000-0000-0000-000000000000"
    refused = [NodeFindings(m.node, m.status, "", tuple(_failed(f) for f in m.findings), 0.1) for m in (said("a", zero), said("b", zero))]
    found = rack_findings([*refused, said("c"), said("d")])
    assert found == {"c cluster_uuid": "pass", "d cluster_uuid": "pass", "c clique_id": "pass", "d clique_id": "pass"}


def _failed(finding: Finding) -> Finding:
    return replace(finding, outcome=Outcome.FAIL)


def test_nobody_who_answers_is_no_finding() -> None:
    assert rack_findings([said("a", None)]) == {}


def node(name: str, rack: str, *roles: str, domain: str = "") -> Node:
    return Node(name, (), Connection("192.0.2.1"), Place(rack=rack, nvlink_domain=domain), NodeSpec({r: {} for r in roles}, {}, (), "0"))


def test_answers_wait_for_their_own_domain_only() -> None:
    nodes = [
        node("a", "r1", "nvlink_domain"),
        node("b", "r1", "nvlink_domain"),
        node("c", "r2", "nvlink_domain"),
        node("d", "r1", "kernel"),
    ]
    domains = DomainRound(nodes)
    assert [f.node for f in domains.answered(said("a"))] == []
    assert [f.node for f in domains.answered(said("d"))] == ["d"]
    assert [f.node for f in domains.answered(said("c"))] == ["c"]
    unreachable = NodeFindings("b", NodeStatus.UNREACHABLE, "no route", (), 0.1)
    assert [f.node for f in domains.answered(unreachable)] == ["a", "b"]


def test_a_domain_may_be_named() -> None:
    domains = DomainRound([node("a", "r1", "nvlink_domain", domain="x"), node("b", "r2", "nvlink_domain", domain="x")])
    assert domains.answered(said("a", TWO)) == ()
    told = {f.node: [g.outcome for g in f.findings if g.check == "nvlink_domain.rack.cluster_uuid"] for f in domains.answered(said("b"))}
    assert told == {"a": [Outcome.FAIL], "b": [Outcome.FAIL]}
