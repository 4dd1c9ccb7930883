"""A node that runs another kernel than the declared one boots that kernel before any later role runs. Fake nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.findings import NodeFindings, NodeStatus
from clusterctl.model.plan import PlannedAction
from clusterctl.model.state import State
from support.provisioning import World, node

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from clusterctl.model.node import Node

ROLES = ("hardware", "bios", "kernel", "os_tuning", "ofed", "nvidia_driver")
LATER = ("os_tuning", "ofed", "nvidia_driver")
NAMES = ("r12-n01", "r12-n02")


@dataclass
class FreshWorld(World):
    """Nodes with roles before and after the role kernel."""

    names: Sequence[str] = NAMES

    def node(self, name: str) -> Node:
        return node(name, self.digest, ROLES)


@pytest.fixture
def world(tmp_path: Path) -> FreshWorld:
    made = FreshWorld(tmp_path)
    made.bad = {n: set(ROLES) - {"hardware"} for n in NAMES}
    made.reboot = {"kernel", "ofed", "nvidia_driver"}
    made.other_kernel = set(NAMES)
    return made


def steps(world: World) -> list[str]:
    return [what for what, _ in world.calls if what.startswith(("provision", "reboot"))]


def test_one_run_admits_a_node_that_an_installer_left_on_another_kernel(world: FreshWorld) -> None:
    assert world.run().exit_code is ExitCode.OK
    assert set(world.states().values()) == {State.ADMITTED}
    assert steps(world) == ["provision bios,kernel", "reboot", "provision os_tuning,ofed,nvidia_driver", "reboot"]


def test_a_role_that_stored_something_runs_again_only_if_the_reboot_did_not_bring_it(world: FreshWorld) -> None:
    world.names, world.again = NAMES[:1], {"bios": 1}
    assert world.run().exit_code is ExitCode.OK
    assert steps(world) == ["provision bios,kernel", "reboot", "provision bios,os_tuning,ofed,nvidia_driver", "reboot"]


def test_devices_whose_drivers_come_later_are_not_awaited_after_the_first_reboot(world: FreshWorld) -> None:
    world.run()
    first, second = (r for r in world.requests if r.playbook == "reboot.yml")
    assert "reboot_wait_devices=false" in first.extra_args
    assert "reboot_wait_devices=false" not in second.extra_args


def test_every_later_role_runs_on_the_new_kernel_though_all_passed_on_the_old_one(world: FreshWorld) -> None:
    """A kernel update of a node as declared otherwise: drivers built for the old kernel prove nothing about the new one."""
    world.bad = {}
    assert world.run().exit_code is ExitCode.OK
    assert world.plans[0].nodes[0].roles == ("kernel", *LATER), "the plan shows what is done"
    assert steps(world) == ["provision kernel", "reboot", "provision os_tuning,ofed,nvidia_driver"]


def test_nodes_on_the_declared_kernel_do_not_wait_for_the_others(world: FreshWorld) -> None:
    world.other_kernel = {"r12-n01"}
    assert world.run().exit_code is ExitCode.OK
    reboots = [names for what, names in world.calls if what == "reboot"]
    assert reboots == [("r12-n01",), NAMES]


def test_another_command_line_alone_takes_no_reboot_of_its_own(world: FreshWorld) -> None:
    world.other_kernel = set()
    assert world.run().exit_code is ExitCode.OK
    assert steps(world) == ["provision bios,kernel,os_tuning,ofed,nvidia_driver", "reboot"]


def test_a_node_that_does_not_come_back_gets_no_later_role(world: FreshWorld) -> None:
    world.no_return = {"r12-n02"}
    result = world.run()
    assert world.states() == {"r12-n01": State.ADMITTED, "r12-n02": State.QUARANTINED}
    assert result.nodes[1].reason.startswith("Reboot and wait for SSH")
    assert all("r12-n02" not in names for what, names in world.calls if "ofed" in what)


def test_a_node_on_which_the_role_kernel_fails_is_not_rebooted(world: FreshWorld) -> None:
    world.role_fails = {"r12-n01"}
    world.run()
    assert world.states()["r12-n01"] is State.QUARANTINED
    assert all("r12-n01" not in names for what, names in world.calls if what == "reboot")


def test_a_forbidden_reboot_leaves_the_later_roles_undone(world: FreshWorld) -> None:
    """Modules would be built for a kernel that the node is not to keep."""
    result = world.run(reboot=False)
    assert result.exit_code is ExitCode.CHANGES_PENDING
    assert steps(world) == ["provision bios,kernel"]
    assert "needs a reboot (kernel), which --no-reboot forbids" in result.nodes[0].reason


def test_only_selected_roles_run_after_the_reboot(world: FreshWorld) -> None:
    world.run(roles=("kernel", "ofed"))
    assert steps(world) == ["provision kernel", "reboot", "provision ofed", "reboot"]


def test_a_kernel_that_was_not_selected_is_not_booted(world: FreshWorld) -> None:
    world.run(roles=("ofed",))
    assert steps(world) == ["provision ofed", "reboot"]


def test_a_node_whose_kernel_is_unknown_boots_the_declared_one_first(world: FreshWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """--all-roles applies roles where validators could not run."""
    real = world.validate
    asked: list[int] = []

    def first_time_unknown(nodes: Sequence[Node]) -> list[NodeFindings]:
        asked.append(1)
        return [NodeFindings(n.name, NodeStatus.CRASHED, "", (), 0.1) for n in nodes] if len(asked) == 1 else real(nodes)

    monkeypatch.setattr(world, "validate", first_time_unknown)
    assert world.run(all_roles=True).exit_code is ExitCode.OK
    assert world.plans[0].nodes[0].action is PlannedAction.PROVISION
    assert steps(world)[:3] == ["provision hardware,bios,kernel", "reboot", "provision os_tuning,ofed,nvidia_driver"]
