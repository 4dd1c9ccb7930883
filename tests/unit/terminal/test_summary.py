from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator

from clusterctl.core.plan import plan_exit_code
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.plan import NodePlan, Plan, PlannedAction
from clusterctl.model.provision import NodeResult, ProvisionResult
from clusterctl.model.state import State
from clusterctl.model.verdict import Reason, ReasonKind
from clusterctl.terminal import summary
from support.plain_yaml import load_yaml
from support.roles import ROOT

SCHEMA = json.loads((ROOT / "docs/reference/schemas/provision.schema.json").read_text())
BAD = Reason(
    ReasonKind.GATE_FAILED,
    "rdma_pair mlx5_3: bandwidth_average 196 Gb/s, expected >= 360 Gb/s [a published floor]; all its partners were fine with others",
    device="mlx5_3",
    item="rdma_pair",
    hint="reseat or replace its cable, then `clusterctl provision r12-n04 --retest`",
)
RESULT = ProvisionResult(
    "20260102-030405-provision-ab12",
    (
        NodeResult("r12-n01", State.ADMITTED, ExitCode.OK, changed=40, touched=True, duration_s=61.24),
        NodeResult("r12-n04", State.QUARANTINED, ExitCode.GATE_FAILED, BAD.text, (BAD,), 40, 60.0, touched=True),
    ),
    62.0,
    simulated=True,
    counts={"quarantined": 1, "admitted": 1},
)


def test_people_read_what_found_expected_source_and_hint(capsys: pytest.CaptureFixture[str]) -> None:
    summary.show_summary(RESULT, "table")
    captured = capsys.readouterr()
    assert captured.out.splitlines() == [
        "1 admitted, 1 quarantined  (simulated)",
        f"✗ r12-n04: {BAD.text}",
        f"  hint: {BAD.hint}",
        "  once repaired: clusterctl provision r12-n04 --retest",
        "80 changed in 62 s",
    ]
    assert captured.err == (
        "Run 20260102-030405-provision-ab12: 1 admitted, 1 quarantined. Details: clusterctl report 20260102-030405-provision-ab12\n"
    )


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_programs_read_a_document(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    summary.show_summary(RESULT, output)
    text = capsys.readouterr().out
    data = json.loads(text) if output == "json" else load_yaml(text)
    Draft202012Validator(SCHEMA).validate(data)
    assert (data["schema_version"], data["kind"], data["exit_code"]) == (1, "provision", 7)
    assert data["nodes"][1]["reasons"][0]["device"] == "mlx5_3"
    assert data["nodes"][1]["reasons"][0]["code"] == "gate.rdma_pair"


def test_an_unknown_key_breaks_the_schema() -> None:
    data = {"schema_version": 1, "kind": "provision", **summary.provision_document(RESULT)}
    assert Draft202012Validator(SCHEMA).is_valid(data)
    assert not Draft202012Validator(SCHEMA).is_valid(data | {"surprise": 1})


def test_many_reasons_are_cut_short_with_the_way_to_the_rest() -> None:
    node = NodeResult("r12-n04", State.QUARANTINED, ExitCode.GATE_FAILED, BAD.text, (BAD,) * 9)
    text = list(summary.lines(ProvisionResult("run", (node,), 1.0, counts={"quarantined": 1})))
    assert "  and 6 more: clusterctl history r12-n04" in text


def test_the_way_back_names_good_partners() -> None:
    good = tuple(NodeResult(f"r12-n0{i}", State.ADMITTED, ExitCode.OK) for i in (1, 2, 3))
    text = list(summary.lines(ProvisionResult("run", (*good, RESULT.nodes[1]), 1.0, counts={"admitted": 3, "quarantined": 1})))
    assert "  once repaired: clusterctl provision r12-n04 --retest --partners r12-n01,r12-n02" in text


def test_what_a_node_printed_cannot_break_a_line() -> None:
    evil = Reason(ReasonKind.ROLE_FAILED, "no\x1b[2J\nadmitted")
    node = NodeResult("r12-n04", State.QUARANTINED, ExitCode.ROLE_FAILED, evil.text, (evil,))
    text = "\n".join(summary.lines(ProvisionResult("run", (node,), 1.0, counts={"quarantined": 1})))
    assert "\x1b" not in text
    assert "\nadmitted" not in text


def test_a_lost_node_is_counted_in_its_state_and_as_unreachable() -> None:
    node = NodeResult("r12-n01", State.ADMITTED, ExitCode.UNREACHABLE, "unreachable")
    assert summary.headline(ProvisionResult("run", (node,), 1.0, counts={"admitted": 1})) == "1 admitted (1 of these unreachable)"


PLAN = Plan(
    (
        NodePlan("r12-n01", PlannedAction.PROVISION, State.ADMITTED, "2 failing checks", roles=("kernel", "nccl")),
        NodePlan("r12-n02", PlannedAction.PROVISION, State.REGISTERED, "no role has anything to do; burn-in is missing"),
        NodePlan("r12-n03", PlannedAction.LEAVE, State.ADMITTED, "admitted, and as declared"),
    )
)


def test_a_plan_reads_like_terraforms() -> None:
    assert list(summary.plan_lines(PLAN)) == [
        "~ r12-n01 (admitted): kernel, nccl [2 failing checks]",
        "~ r12-n02 (registered): burn-in only [no role has anything to do; burn-in is missing]",
        "  r12-n03 (admitted): admitted, and as declared",
        "Plan: 2 nodes, 2 roles to change. Admitted nodes to be taken out of the pool first: 1.",
    ]


def test_nodes_with_equal_plans_share_a_line_and_unreachable_ones_are_all_named() -> None:
    names = [f"r13-n{i:02d}" for i in range(72)]
    work = [NodePlan(n, PlannedAction.PROVISION, State.REGISTERED, "301 failing checks", roles=("kernel",)) for n in names[:60]]
    lost = [NodePlan(n, PlannedAction.UNREACHABLE, State.REGISTERED, "no route", exit_code=ExitCode.UNREACHABLE) for n in names[60:]]
    assert list(summary.plan_lines(Plan((*work, *lost)))) == [
        "~ 60 nodes (r13-n00, r13-n01, r13-n02, r13-n03, ...) (registered): kernel [301 failing checks]",
        f"  {', '.join(names[60:])} (registered): no route",
        "Plan: 60 nodes, 1 role to change.",
    ]


@pytest.mark.parametrize(("nodes", "code"), [(PLAN.nodes, ExitCode.CHANGES_PENDING), (PLAN.nodes[2:], ExitCode.OK)])
def test_a_plan_says_by_its_code_whether_anything_is_to_do(nodes: tuple[NodePlan, ...], code: ExitCode) -> None:
    assert plan_exit_code(Plan(nodes)) is code
