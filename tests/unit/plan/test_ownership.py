"""Nodes of which something else owns a part: an image, the GPU Operator. Their roles are verified and never applied, and no boot may undo what was admitted."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.validator_declarations import read_traits
from clusterctl.core.admission.decide import configuration_reasons
from clusterctl.core.drift.compare import compare_nodes
from clusterctl.core.ownership import judge_ownership
from clusterctl.core.plan import PlanInput, make_plan
from clusterctl.core.repairs import repair_of_deviation, repair_of_finding
from clusterctl.model.drift import Known
from clusterctl.model.findings import NodeFindings, NodeStatus
from clusterctl.model.node import Connection, Node, NodeSpec, Place
from clusterctl.model.plan import PlannedAction
from clusterctl.model.playbook_result import HostOutcome, HostStatus
from clusterctl.model.provision import ProvisionOptions
from clusterctl.model.records import NodeRecord
from clusterctl.model.repair import NextAction
from clusterctl.model.state import State
from clusterctl.model.verdict import ReasonKind
from clusterctl_validators.finding import Finding, Outcome, Severity
from support.stores import a_node, a_run, fresh

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from clusterctl.model.plan import NodePlan

TRAITS = read_traits(())
DEFAULT = ProvisionOptions()
IMAGE = {"owner": "the image", "change": "wwctl image exec gpu-node, then reboot NODE"}
RUNNING = Finding("hugepages.pages[1G].node0.running", "hugepages", Outcome.FAIL, Severity.MAJOR, "64", "0", "provision NODE")
PERSISTED = Finding("hugepages.pages[1G].node0.persisted", "hugepages", Outcome.FAIL, Severity.MAJOR, "64", "0", "provision NODE")
NO_MENU = Finding(
    "kernel.cmdline[iommu].persisted", "kernel", Outcome.COULD_NOT_RUN, Severity.MAJOR, reason="no boot menu: /boot/grub/grub.cfg is absent"
)
CMDLINE = Finding("kernel.cmdline[iommu].running", "kernel", Outcome.PASS, Severity.MAJOR, "iommu=pt", "iommu=pt")
OTHER_KERNEL = Finding(
    "kernel.release.running", "kernel", Outcome.FAIL, Severity.CRITICAL, "6.8.0-64-generic", "6.8.0-60-generic", "reboot the node"
)
GPUS = Finding("hardware.gpus", "hardware", Outcome.PASS, Severity.CRITICAL, "8", "8")
FIRMWARE = Finding("ofed.firmware[mlx5_0].running", "ofed", Outcome.FAIL, Severity.MAJOR, "28.43.1014", "28.39.1002", "update the firmware")
NOTHING = Finding("storage_client.mount", "storage_client", Outcome.NOT_APPLICABLE, Severity.MAJOR, reason="none is declared")


def spec(roles: Mapping[str, object], *owned: str) -> NodeSpec:
    return NodeSpec({r: {} for r in roles}, {}, (), "d1", (), tuple({"role": r, **IMAGE} for r in owned))


def judged(*found: Finding, owned: tuple[str, ...] = (), root: str = "") -> tuple[NodeFindings, NodeSpec]:
    declared = spec({f.role: {} for f in found}, *owned)
    raw = NodeFindings("n1", NodeStatus.OK, "", found, 1.0, volatile_root=root)
    return replace(raw, findings=judge_ownership(raw, declared, TRAITS)), declared


def plan(
    *found: Finding,
    owned: tuple[str, ...] = (),
    root: str = "",
    state: State = State.REGISTERED,
    options: ProvisionOptions = DEFAULT,
) -> NodePlan:
    findings, declared = judged(*found, owned=owned, root=root)
    record = NodeRecord("n1", "r1", 1, (), state, "", "d1", "run-1", "", "lab")
    node = Node("n1", (), Connection("n1"), Place(), declared)
    return make_plan([PlanInput(node, record, findings, findings)], options, TRAITS).nodes[0]


def reasons(found: NodeFindings, declared: NodeSpec) -> list[tuple[str, NextAction | None, str]]:
    kept_out = configuration_reasons("n1", expected_roles=declared.roles, findings=found, outcome=HostOutcome("n1", HostStatus.OK))
    return [(r.item or r.text, r.repair.next_action, r.hint) for r in kept_out]


def test_a_healthy_node_that_boots_over_the_network_is_not_refused_for_its_missing_boot_menu() -> None:
    assert [r[0] for r in reasons(*judged(NO_MENU, CMDLINE))] == [NO_MENU.check]
    found, declared = judged(NO_MENU, CMDLINE, owned=("kernel",))
    assert reasons(found, declared) == []
    assert [(f.outcome, f.owner) for f in found.findings] == [(Outcome.NOT_APPLICABLE, "the image"), (Outcome.PASS, "the image")]


def test_a_role_without_any_other_check_is_not_proven_by_leaving_all_of_them_out() -> None:
    found, declared = judged(NO_MENU, owned=("kernel",))
    assert [r[0] for r in reasons(found, declared)] == [NO_MENU.check]


def test_what_runs_decides_and_the_next_action_is_that_of_the_owner() -> None:
    found, declared = judged(RUNNING, PERSISTED, owned=("hugepages",))
    hint = "the image owns this part of n1: wwctl image exec gpu-node, then reboot n1"
    assert reasons(found, declared) == [(RUNNING.check, NextAction.CHANGE_AT_OWNER, hint)]
    (deviation,) = compare_nodes([found], {"n1": Known(State.ADMITTED, "d1")}, {"n1": "d1"}).deviations
    assert (deviation.hint, repair_of_deviation(deviation).next_action) == (hint, NextAction.CHANGE_AT_OWNER)


def test_what_no_role_mends_keeps_its_own_next_action() -> None:
    found, _ = judged(FIRMWARE, owned=("ofed",))
    assert (found.findings[0].hint, repair_of_finding(found.findings[0])) == (FIRMWARE.hint, repair_of_finding(FIRMWARE))


@pytest.mark.parametrize("options", [ProvisionOptions(), ProvisionOptions(all_roles=True), ProvisionOptions(roles=("hugepages",))])
def test_a_role_that_is_owned_elsewhere_is_never_planned(options: ProvisionOptions) -> None:
    planned = plan(RUNNING, PERSISTED, GPUS, owned=("hugepages",), options=options)
    assert "hugepages" not in planned.roles
    assert [c.check for c in planned.beyond_roles] == [RUNNING.check]
    assert planned.changes == ()


def test_a_node_on_which_only_owned_roles_fail_is_quarantined_with_the_owners_next_action() -> None:
    planned = plan(RUNNING, GPUS, owned=("hugepages",))
    assert planned.action is PlannedAction.QUARANTINE
    assert [(r.kind, r.repair.next_action) for r in planned.reasons] == [(ReasonKind.CHECK_FAILED, NextAction.CHANGE_AT_OWNER)]


def test_nothing_is_installed_for_a_kernel_that_its_owner_is_to_replace() -> None:
    driver = Finding("nvidia_driver.version.running", "nvidia_driver", Outcome.FAIL, Severity.CRITICAL, "580.126.20", "none")
    assert plan(OTHER_KERNEL, driver).roles == ("kernel", "nvidia_driver")
    planned = plan(OTHER_KERNEL, driver, owned=("kernel",))
    assert (planned.action, planned.roles) == (PlannedAction.QUARANTINE, ())


@pytest.mark.parametrize("root", ["tmpfs", "rootfs", "overlay"])
@pytest.mark.parametrize("options", [ProvisionOptions(), ProvisionOptions(all_roles=True)])
def test_what_no_boot_keeps_is_neither_applied_nor_admitted(root: str, options: ProvisionOptions) -> None:
    planned = plan(RUNNING, GPUS, NOTHING, root=root, options=options)
    assert (planned.action, planned.roles) == (PlannedAction.QUARANTINE, ()) if not options.all_roles else "hugepages" not in planned.roles
    passing = replace(RUNNING, outcome=Outcome.PASS, found="64")
    found, declared = judged(passing, GPUS, NOTHING, root=root)
    ((item, action, hint),) = reasons(found, declared)
    assert (item, action) == ("hugepages.kept_over_boot", NextAction.CHANGE_AT_OWNER)
    assert "image" in hint
    assert "roles_owned_elsewhere" in hint


def test_an_admitted_node_loses_its_place_where_the_next_boot_would_undo_it() -> None:
    passing = replace(RUNNING, outcome=Outcome.PASS, found="64")
    assert plan(passing, GPUS, state=State.ADMITTED).action is PlannedAction.LEAVE
    assert plan(passing, GPUS, root="tmpfs", state=State.ADMITTED).action is PlannedAction.QUARANTINE
    assert plan(passing, GPUS, owned=("hugepages",), root="tmpfs", state=State.ADMITTED).action is PlannedAction.LEAVE


def test_roles_that_leave_nothing_on_the_root_file_system_need_no_owner() -> None:
    bios = Finding("bios.attributes[SMT].current", "bios", Outcome.PASS, Severity.MAJOR, "on", "on")
    found, declared = judged(bios, GPUS, NOTHING, root="tmpfs")
    assert reasons(found, declared) == []


def test_without_owners_nothing_changes() -> None:
    found, _ = judged(RUNNING, PERSISTED, GPUS)
    assert found.findings == (RUNNING, PERSISTED, GPUS)


def test_the_store_keeps_the_owner(tmp_path: Path) -> None:
    found, _ = judged(RUNNING, CMDLINE, owned=("hugepages",))
    with fresh(tmp_path) as store:
        store.register([a_node("n1")])
        store.start_run(a_run())
        store.save_findings(a_run().id, found)
        stored = store.findings("n1", a_run().id)
    assert stored
    assert {f.check: f.owner for f in stored.findings} == {RUNNING.check: "the image", CMDLINE.check: ""}
