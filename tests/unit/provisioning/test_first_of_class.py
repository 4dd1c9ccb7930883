"""One node of a class boots a new kernel alone; the others follow when it came back. Fake nodes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest

from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.provision import Note
from clusterctl.model.state import State
from support.provisioning import World, node

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from clusterctl.model.node import Node

ROLES = ("kernel", "ofed")
NAMES = ("r12-n01", "r12-n02", "r12-n03", "r12-n04")
NEW = "6.8.0-1046-nvidia"


@dataclass
class ClassWorld(World):
    """Nodes that declare a kernel.

    Attributes:
        releases: node -> its declared kernel, if not NEW.
        profiles: node -> its profile, if not that of the lab.
    """

    names: Sequence[str] = NAMES
    releases: dict[str, str] = field(default_factory=dict)
    profiles: dict[str, str] = field(default_factory=dict)

    def node(self, name: str) -> Node:
        made = node(name, self.digest, ROLES)
        spec = replace(made.spec, roles={**made.spec.roles, "kernel": {"kernel_release": self.releases.get(name, NEW)}})
        return replace(made, spec=spec, groups=("rack_12", self.profiles.get(name, "profile_lab")))


@pytest.fixture
def world(tmp_path: Path) -> ClassWorld:
    made = ClassWorld(tmp_path)
    made.bad = {n: {"kernel"} for n in NAMES}
    made.reboot = {"kernel"}
    made.other_kernel = set(NAMES)
    return made


def reboots(world: World) -> list[tuple[str, ...]]:
    return [names for what, names in world.calls if what == "reboot"]


def test_the_first_node_boots_alone_and_the_others_follow(world: ClassWorld) -> None:
    assert world.run().exit_code is ExitCode.OK
    assert reboots(world) == [NAMES[:1], NAMES[1:]]
    assert set(world.states().values()) == {State.ADMITTED}
    notes = [p.text for p in world.progress if isinstance(p, Note)]
    assert f"r12-n01 boots {NEW} alone; 3 more of its class follow when it came back" in notes


def test_the_playbook_is_told_that_the_kernel_is_proven_only_after_the_first_node(world: ClassWorld) -> None:
    world.run()
    first, second = (r.extra_args for r in world.requests if r.playbook == "reboot.yml")
    assert ("reboot_kernel_proven=true" in first, "reboot_kernel_proven=true" in second) == (False, True)


def test_a_kernel_that_does_not_start_costs_one_node(world: ClassWorld) -> None:
    world.no_return = {"r12-n01"}
    result = world.run()
    assert reboots(world) == [NAMES[:1]]
    assert set(world.states().values()) == {State.QUARANTINED}
    assert result.nodes[0].reason == "Reboot and wait for SSH: timed out"
    for other in result.nodes[1:]:
        assert other.reason == f"not rebooted: r12-n01 was to boot {NEW} first and failed: Reboot and wait for SSH: timed out"
        assert other.exit_code is ExitCode.CHANGES_PENDING
        assert "clusterctl power cycle r12-n01" in other.reasons[0].hint
    assert not [what for what, _ in world.calls if "ofed" in what], "no driver is built for a kernel that nobody runs"


def test_a_later_node_that_does_not_come_back_stops_nobody(world: ClassWorld) -> None:
    world.no_return = {"r12-n03"}
    world.run()
    assert reboots(world) == [NAMES[:1], NAMES[1:]]
    assert [n for n, state in world.states().items() if state is State.ADMITTED] == ["r12-n01", "r12-n02", "r12-n04"]


def test_a_node_that_runs_the_kernel_already_has_proven_it(world: ClassWorld) -> None:
    world.other_kernel = {"r12-n02", "r12-n03"}
    world.run()
    assert reboots(world)[0] == ("r12-n02", "r12-n03")


def test_each_class_has_a_first_node(world: ClassWorld) -> None:
    world.releases = {"r12-n03": "6.8.0-2000-nvidia"}
    world.profiles = {"r12-n04": "profile_other"}
    world.run()
    assert reboots(world) == [("r12-n01", "r12-n03", "r12-n04"), ("r12-n02",)]


def test_the_failure_of_one_class_does_not_hold_another(world: ClassWorld) -> None:
    world.profiles = dict.fromkeys(NAMES[2:], "profile_other")
    world.no_return = {"r12-n01"}
    world.run()
    assert reboots(world) == [("r12-n01", "r12-n03"), ("r12-n04",)]
    assert [n for n, state in world.states().items() if state is State.ADMITTED] == ["r12-n03", "r12-n04"]


def test_a_proven_kernel_of_another_class_proves_nothing(world: ClassWorld) -> None:
    world.profiles = {"r12-n01": "profile_other"}
    world.other_kernel = set(NAMES[1:])
    world.run()
    assert reboots(world)[:2] == [("r12-n02",), ("r12-n03", "r12-n04")]


def test_without_a_declared_release_the_budget_alone_counts(world: ClassWorld) -> None:
    world.releases = dict.fromkeys(NAMES, "")
    world.run()
    assert reboots(world) == [NAMES]


def test_a_reboot_for_another_role_starts_the_default_kernel(world: ClassWorld) -> None:
    world.bad = {n: {"ofed"} for n in NAMES}
    world.reboot, world.other_kernel = {"ofed"}, set()
    world.run()
    (only,) = (r.extra_args for r in world.requests if r.playbook == "reboot.yml")
    assert "reboot_kernel=false" in only
