from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator

from clusterctl.adapters.validator_declarations import read_traits
from clusterctl.core.plan import PlanInput, check_exit_code, make_plan, plan_body, plan_exit_code
from clusterctl.model.errors import ConfigError
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.findings import NodeFindings, NodeStatus
from clusterctl.model.node import Connection, Node, NodeSpec, Place
from clusterctl.model.plan import PlannedAction
from clusterctl.model.provision import ProvisionOptions
from clusterctl.model.records import NodeRecord
from clusterctl.model.state import State
from clusterctl.terminal import plan as view
from clusterctl_validators.finding import Finding, Outcome, Severity
from support.plans import plan_of
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def finding(check: str, outcome: Outcome, expected: str = "64", found: str = "0", reason: str = "") -> Finding:
    return Finding(check, check.partition(".")[0], outcome, Severity.MAJOR, expected, found, reason=reason)


def node(name: str, *findings: Finding, status: NodeStatus = NodeStatus.OK, detail: str = "") -> NodeFindings:
    return NodeFindings(name, status, detail, findings, 1.0)


GOOD = finding("kernel.release.running", Outcome.PASS)
WAIVED = finding("kernel.hold", Outcome.WAIVED)
PAGES = finding("hugepages.pages[1G].node0.running", Outcome.FAIL)
PERSISTED = finding("hugepages.pages[1G].node0.persisted", Outcome.FAIL, found="")
SURPLUS = finding("kernel.cmdline[quiet].running", Outcome.FAIL, expected="", found="quiet")
BLIND = finding("nvidia_driver.version.running", Outcome.COULD_NOT_RUN, reason="nvidia-smi: No such file or directory")
CARD = finding("hardware.gpus.on_pci", Outcome.FAIL, expected="8", found="7")
LOST = node("n9", status=NodeStatus.UNREACHABLE, detail="Connection refused")


@pytest.mark.parametrize(
    ("results", "code"),
    [
        ([node("n1", GOOD, WAIVED)], ExitCode.OK),
        ([node("n1", GOOD, PAGES)], ExitCode.CHANGES_PENDING),
        ([node("n1", PAGES, BLIND)], ExitCode.CHANGES_PENDING),
        ([node("n1", GOOD, BLIND)], ExitCode.VALIDATOR_FAILED),
        ([node("n1", CARD)], ExitCode.VALIDATOR_FAILED),
        ([node("n1", PAGES, CARD)], ExitCode.CHANGES_PENDING),
        ([node("n1", PAGES), node("n2", BLIND)], ExitCode.VALIDATOR_FAILED),
        ([node("n1", PAGES), LOST], ExitCode.UNREACHABLE),
        ([node("n1", status=NodeStatus.CRASHED)], ExitCode.VALIDATOR_FAILED),
        ([node("n1", status=NodeStatus.PYTHON_MISSING)], ExitCode.VALIDATOR_FAILED),
        ([node("n1", status=NodeStatus.TIMED_OUT)], ExitCode.UNREACHABLE),
    ],
)
def test_exit_code(results: list[NodeFindings], code: ExitCode) -> None:
    assert check_exit_code(plan_of(results)) is code


def test_a_check_that_no_role_can_repair_is_one_plan_for_plan_and_provision() -> None:
    made = plan_of([node("n1", GOOD, CARD)])
    assert [n.action for n in made.nodes] == [PlannedAction.QUARANTINE]
    assert (made.to_provision, made.leaving_pool, made.nodes[0].roles) == ((), ("n1",), ())
    assert check_exit_code(made) is plan_exit_code(made) is ExitCode.VALIDATOR_FAILED
    assert "hardware.gpus" in made.nodes[0].reasons[0].text


def test_a_role_that_asserts_runs_only_in_company_of_roles_that_change() -> None:
    made = plan_of([node("n1", CARD, PAGES)])
    assert [n.action for n in made.nodes] == [PlannedAction.PROVISION]
    assert set(made.nodes[0].roles) == {"hardware", "hugepages"}
    assert made.nodes[0].changing_roles == made.roles == ("hugepages",)


LEAK, BIOS = finding("bios.leak_detectors[Chassis_0]", Outcome.FAIL), finding("bios.attributes[SMT].current", Outcome.FAIL)
UNPINNED = finding("bios.firmware[bmc]", Outcome.FAIL)


def test_a_check_that_its_own_role_does_not_mend_is_beyond_it() -> None:
    made = plan_of([node("n1", GOOD, LEAK, UNPINNED)])
    (planned,) = made.nodes
    assert (planned.action, planned.roles, planned.changes) == (PlannedAction.QUARANTINE, (), ())
    assert [c.check for c in planned.beyond_roles] == [LEAK.check, UNPINNED.check]
    assert check_exit_code(made) is plan_exit_code(made) is ExitCode.VALIDATOR_FAILED


def test_a_role_that_would_only_assert_runs_before_others_change_the_node() -> None:
    (planned,) = plan_of([node("n1", LEAK, PAGES)]).nodes
    assert (planned.action, set(planned.roles), planned.changing_roles) == (PlannedAction.PROVISION, {"bios", "hugepages"}, ("hugepages",))


def test_a_role_that_mends_one_of_its_checks_is_applied() -> None:
    made = plan_of([node("n1", LEAK, BIOS)])
    (planned,) = made.nodes
    assert (planned.action, planned.changing_roles, [c.check for c in planned.changes]) == (
        PlannedAction.PROVISION,
        ("bios",),
        [BIOS.check],
    )
    assert [c.check for c in planned.beyond_roles] == [LEAK.check]
    assert check_exit_code(made) is ExitCode.CHANGES_PENDING


def test_what_a_plan_leaves_as_it_is_is_no_pending_change() -> None:
    minor = replace(PAGES, severity=Severity.MINOR)
    record = NodeRecord("n1", "r1", 1, (), State.ADMITTED, "", "d1", "run-1", "", "lab")
    spec = NodeSpec({"hugepages": {}}, {}, (), "d1")
    known = PlanInput(Node("n1", (), Connection("n1"), Place(), spec), record, node("n1", minor), node("n1", minor))
    made = make_plan([known], ProvisionOptions(), read_traits(()))
    assert made.nodes[0].action is PlannedAction.LEAVE
    assert check_exit_code(made) is plan_exit_code(made) is ExitCode.OK


@pytest.mark.parametrize(("check", "action"), [("complete", PlannedAction.LEAVE), ("nodes.mode", PlannedAction.PROVISION)])
def test_a_tray_is_not_provisioned_again_because_another_tray_of_its_rack_is_down(check: str, action: PlannedAction) -> None:
    minor = replace(finding(f"nvlink_domain.imex.{check}", Outcome.FAIL), severity=Severity.MINOR)
    record = NodeRecord("n1", "r1", 1, (), State.ADMITTED, "", "d1", "run-1", "", "lab")
    spec = NodeSpec({"nvlink_domain": {}}, {}, (), "d1")
    known = PlanInput(Node("n1", (), Connection("n1"), Place(), spec), record, node("n1", minor), node("n1"))
    assert make_plan([known], ProvisionOptions(), read_traits(())).nodes[0].action is action


def test_an_admitted_node_with_failing_checks_outside_the_selected_roles_stays_and_is_reported() -> None:
    record = NodeRecord("n1", "r1", 1, (), State.ADMITTED, "", "d1", "run-1", "", "lab")
    spec = NodeSpec({"hugepages": {}, "kernel": {}}, {}, (), "d1")
    known = PlanInput(Node("n1", (), Connection("n1"), Place(), spec), record, node("n1", GOOD, PAGES), node("n1", GOOD))
    made = make_plan([known], ProvisionOptions(roles=("kernel",)), read_traits(()))
    assert made.nodes[0].action is PlannedAction.LEAVE
    assert plan_exit_code(made) is ExitCode.CHANGES_PENDING


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    results = [
        node("n1", GOOD, PAGES, PERSISTED, SURPLUS, BLIND, CARD),
        node("n2", PAGES),
        node("n3", PAGES),
        node("n4", GOOD),
        LOST,
    ]
    view.show_plan(plan_of(results), {}, "table")
    assert capsys.readouterr().out == (
        "n1\n"
        "  ~ hugepages.pages[1G].node0.running: 0 -> 64\n"
        "  + hugepages.pages[1G].node0.persisted: 64\n"
        "  - kernel.cmdline[quiet].running: quiet\n"
        "  ? nvidia_driver.version.running: nvidia-smi: No such file or directory\n"
        "  cannot be changed by a role:\n"
        "  ! hardware.gpus.on_pci: found 7, expected 8\n"
        "\n"
        "n2, n3\n"
        "  ~ hugepages.pages[1G].node0.running: 0 -> 64\n"
        "\n"
        "n9\n"
        "  ? unreachable: Connection refused\n"
        "    hint: check its power, network and SSH, then run again\n"
        "\n"
        "Nothing is known of 1 of 5 nodes.\n"
        "Plan: 3 nodes, 3 roles to change. 1 node would only be burned in.\n"
    )


def test_what_the_breaker_would_refuse_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    view.show_plan(plan_of([node("n2", PAGES)]), {"refused": "provisioning 2 of 3 pool members"}, "table")
    said = capsys.readouterr().out.splitlines()[-2:]
    assert said == [
        "`clusterctl provision` would refuse it without --force: provisioning 2 of 3 pool members.",
        "Plan: 1 node, 1 role to change.",
    ]


def test_nothing_to_change(capsys: pytest.CaptureFixture[str]) -> None:
    view.show_plan(plan_of([node("n1", GOOD)]), {}, "table")
    assert capsys.readouterr().out == "Plan: 0 nodes, 0 roles to change. 1 node would only be burned in.\n"


def test_many_equal_nodes_are_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    view.show_plan(plan_of([node(f"n{i:03}", PAGES) for i in range(350)]), {}, "table")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert lines[0] == "350 nodes (n000, n001, n002, n003, ...)"


def test_long_and_many_lined_text_stays_on_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    long = finding("nccl.conf", Outcome.FAIL, expected="a\nb", found="x" * 5000)
    view.show_plan(plan_of([node("n1", long)]), {}, "table")
    line = capsys.readouterr().out.splitlines()[1]
    assert line.endswith("... -> a b")
    assert len(line) < 300


def test_json_and_its_file(tmp_path: Path) -> None:
    body = {"run_id": "run-1", "target": "rack-12", "refused": "", **plan_body(plan_of([node("n1", PAGES, BLIND, CARD)]), {"n1": "d1"})}
    view.save(body, "plan", tmp_path / "plan.json")
    data = json.loads((tmp_path / "plan.json").read_text())
    Draft202012Validator(json.loads((ROOT / "docs/reference/schemas/plan.schema.json").read_text())).validate(data)
    assert data["summary"] == {"nodes_to_change": 1, "roles_to_change": ["hugepages", "nvidia_driver"]}
    (told,) = data["nodes"]
    assert told["spec_digest"] == "d1"
    assert told["roles"] == ["hugepages", "nvidia_driver", "hardware"]
    assert (told["state"], told["action"]) == ("registered", "work")
    assert told["changes"] == [
        {"role": "hugepages", "check": PAGES.check, "found": "0", "expected": "64", "severity": "major"},
    ]
    assert [c["check"] for c in told["beyond_roles"]] == [CARD.check]
    assert told["could_not_run"] == [{"role": "nvidia_driver", "check": BLIND.check, "reason": BLIND.reason}]


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no/such: No such file"):
        view.save({}, "plan", tmp_path / "no" / "such")
