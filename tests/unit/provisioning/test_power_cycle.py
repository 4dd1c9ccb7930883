"""A setting that a warm reboot does not bring: power cycle by the BMC, then the verdict. Fake nodes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.validator_declarations import read_traits
from clusterctl.core.cold_settings import awaiting_power_cycle
from clusterctl.model.playbook_result import HostOutcome, HostStatus, TaskFailure
from clusterctl.model.power import PowerOutcome, PowerReport
from clusterctl.model.state import State
from clusterctl_validators.finding import Finding, Outcome, Severity
from support.provisioning import World, node

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.node import Node

TRAITS = read_traits(())
NV = "ofed.mlxconfig[mlx5_0.NUM_OF_VFS]"


@dataclass
class ColdWorld(World):
    """Nodes with the role ofed.

    Attributes:
        cold: nodes whose adapters take the stored NV configuration at a power cycle only.
        stored: whether the value of the next boot is right.
        ends: node -> how its power cycle ends, if it is not done.
        no_devices: nodes whose devices do not come back after a power cycle.
        boot_order: as the role bios declares it; `no_override`: nodes whose BMC does not direct the next boot to the disk.
    """

    cold: set[str] = field(default_factory=set)
    stored: bool = True
    ends: dict[str, PowerReport] = field(default_factory=dict)
    no_devices: set[str] = field(default_factory=set)
    bmc_url: str = "https://192.0.2.1"
    roles: tuple[str, ...] = ("ofed",)

    boot_order: tuple[str, ...] = ()
    no_override: set[str] = field(default_factory=set)

    def node(self, name: str) -> Node:
        one = replace(node(name, self.digest, self.roles), bmc_url=self.bmc_url)
        declared = {**one.spec.roles, "bios": {"bios_boot_order": list(self.boot_order)}} if self.boot_order else one.spec.roles
        return replace(one, spec=replace(one.spec, roles=declared))

    def _findings(self, one: Node) -> NodeFindings:
        found = super()._findings(one)
        now = Outcome.FAIL if one.name in self.cold else Outcome.PASS
        then = Outcome.PASS if self.stored else Outcome.FAIL
        more = (
            Finding(f"{NV}.running", "ofed", now, Severity.MAJOR, "16", "0" if now is Outcome.FAIL else "16"),
            Finding(f"{NV}.persisted", "ofed", then, Severity.MAJOR, "16", "16" if self.stored else "0"),
        )
        return replace(found, findings=found.findings + more)

    def power_cycle(self, nodes: Sequence[Node]) -> Sequence[PowerReport]:
        reports = super().power_cycle(nodes)
        self.cold -= {n.name for n in nodes if n.name not in self.ends and n.name not in self.incurable}
        return [self.ends.get(r.node, r) for r in reports]

    def _played(self, name: str, what: str, roles: Sequence[str], on_event: object) -> object:  # type: ignore[override]
        if what == "disk_once" and name in self.no_override:
            failure = TaskFailure("Let the next boot start from the disk", "", "would start from PXE")
            return HostOutcome(name, HostStatus.FAILED, failures=(failure,))
        if what == "booted" and name in self.no_devices:
            self.no_return.add(name)
        return super()._played(name, "reboot" if what == "booted" else what, roles, on_event)  # type: ignore[arg-type]

    def steps(self) -> list[str]:
        return [what for what, _ in self.calls]


@pytest.fixture
def world(tmp_path: Path) -> ColdWorld:
    made = ColdWorld(tmp_path, names=("r12-n01", "r12-n02"))
    made.bad = {n: {"ofed"} for n in made.names}
    made.reboot = {"ofed"}
    made.cold = {"r12-n02"}
    return made


def test_only_the_node_that_waits_is_cycled_and_then_judged(world: ColdWorld) -> None:
    world.run()
    assert world.states() == dict.fromkeys(world.names, State.ADMITTED)
    assert world.steps() == ["validate", "provision ofed", "reboot", "validate", "power_cycle", "booted", "validate", "burn_in", "validate"]
    assert ("power_cycle", ("r12-n02",)) in world.calls
    assert world.calls[-3] == ("validate", tuple(world.names)), "findings of a node are of its rack, too"


def test_a_reboot_that_brought_everything_needs_no_power_cycle(world: ColdWorld) -> None:
    world.cold = set()
    world.run()
    assert "power_cycle" not in world.steps()


def test_a_node_that_boots_from_its_disk_is_directed_there_before_the_power_cycle(world: ColdWorld) -> None:
    world.boot_order = ("disk", "network")
    world.run()
    assert world.steps().index("disk_once") == world.steps().index("power_cycle") - 1
    assert ("disk_once", ("r12-n02",)) in world.calls
    assert world.states() == dict.fromkeys(world.names, State.ADMITTED)


def test_a_node_that_would_boot_from_the_network_is_not_cycled(world: ColdWorld) -> None:
    world.boot_order = ("disk",)
    world.no_override = {"r12-n02"}
    world.run()
    assert ("power_cycle", ("r12-n02",)) not in world.calls
    assert world.states() == {"r12-n01": State.ADMITTED, "r12-n02": State.QUARANTINED}


def test_a_node_that_is_declared_to_boot_from_the_network_is_cycled_as_it_is(world: ColdWorld) -> None:
    world.boot_order = ("network", "disk")
    world.run()
    assert "disk_once" not in world.steps()
    assert ("power_cycle", ("r12-n02",)) in world.calls


def test_what_the_power_cycle_does_not_bring_is_judged(world: ColdWorld) -> None:
    world.incurable = {"r12-n02"}
    world.run()
    assert world.states() == {"r12-n01": State.ADMITTED, "r12-n02": State.QUARANTINED}
    assert f"{NV}.running" in world.reasons()["r12-n02"]
    assert world.steps().count("power_cycle") == 1


def test_what_is_not_stored_is_not_cured_by_power(world: ColdWorld) -> None:
    world.stored = False
    world.run()
    assert "power_cycle" not in world.steps()
    assert world.states()["r12-n02"] is State.QUARANTINED


def test_without_a_reboot_nothing_is_cycled(world: ColdWorld) -> None:
    world.run(reboot=False)
    assert "power_cycle" not in world.steps()


def test_a_setting_of_before_is_not_cycled_if_no_role_of_it_required_the_reboot(world: ColdWorld) -> None:
    world.reboot = set()
    world.run()
    assert "power_cycle" not in world.steps()


def test_a_later_reboot_of_another_role_does_not_forget_the_setting(world: ColdWorld) -> None:
    world.bad = {n: {"bios", "ofed"} for n in world.names}
    world.again = {"bios": len(world.names)}
    world.roles = ("bios", "ofed")
    world.run()
    assert world.steps()[:7] == ["validate", "provision bios,ofed", "reboot", "validate", "provision bios", "reboot", "validate"]
    assert ("power_cycle", ("r12-n02",)) in world.calls
    assert world.states() == dict.fromkeys(world.names, State.ADMITTED)


ENDS = [
    ("lost", PowerReport("r12-n02", PowerOutcome.FAILED, detail="not back after 1200 s", down=True), "power cycle: not back after 1200 s"),
    ("refused", PowerReport("r12-n02", PowerOutcome.FAILED, detail="its BMC: HTTP 401"), f"{NV}.running"),
    ("no budget", PowerReport("r12-n02", PowerOutcome.NOT_TRIED, detail="not tried: ..."), f"{NV}.running"),
]


@pytest.mark.parametrize(("report", "reason"), [e[1:] for e in ENDS], ids=[e[0] for e in ENDS])
def test_a_power_cycle_that_is_not_done(world: ColdWorld, report: PowerReport, reason: str) -> None:
    world.ends = {"r12-n02": report}
    world.run()
    assert world.states() == {"r12-n01": State.ADMITTED, "r12-n02": State.QUARANTINED}
    assert reason in world.reasons()["r12-n02"]
    assert world.steps().count("validate") == 3


def test_devices_that_do_not_come_back_quarantine_the_node(world: ColdWorld) -> None:
    world.no_devices = {"r12-n02"}
    world.run()
    assert world.states() == {"r12-n01": State.ADMITTED, "r12-n02": State.QUARANTINED}
    assert "timed out" in world.reasons()["r12-n02"]


@pytest.mark.parametrize(("bmc_url", "last"), [("https://192.0.2.1", "power_cycle"), ("", "reboot")])
def test_the_last_reset_of_a_role_that_asks_again_is_cold_if_there_is_a_bmc(tmp_path: Path, bmc_url: str, last: str) -> None:
    world = ColdWorld(tmp_path, names=("r12-n01",), bmc_url=bmc_url)
    world.bad = {"r12-n01": {"ofed"}}
    world.again = {"ofed": 2}
    world.run()
    resets = [what for what in world.steps() if what in ("reboot", "power_cycle")]
    assert resets == ["reboot", "reboot", last]
    assert world.states()["r12-n01"] is State.ADMITTED


def test_a_bmc_that_refuses_the_last_reset_leaves_a_warm_one(tmp_path: Path) -> None:
    world = ColdWorld(tmp_path, names=("r12-n01",))
    world.bad = {"r12-n01": {"ofed"}}
    world.again = {"ofed": 2}
    world.ends = {"r12-n01": PowerReport("r12-n01", PowerOutcome.FAILED, detail="its BMC: HTTP 401")}
    world.run()
    assert [what for what in world.steps() if what in ("reboot", "power_cycle")] == ["reboot", "reboot", "power_cycle", "reboot"]


def finding(check: str, outcome: Outcome) -> Finding:
    return Finding(check, check.split(".", maxsplit=1)[0], outcome, Severity.MAJOR)


CHECKS = [
    ("bios.attributes[LogicalProc].current", "bios.attributes[LogicalProc].pending", True),
    (f"{NV}.running", f"{NV}.persisted", True),
    ("kernel.cmdline.running", "kernel.cmdline.persisted", False),
    ("ofed.driver.running", "ofed.driver.persisted", False),
    ("bios.attributes[LogicalProc].current", "bios.attributes[Other].pending", False),
]


@pytest.mark.parametrize(("now", "then", "waits"), CHECKS)
def test_which_checks_wait_for_a_power_cycle(now: str, then: str, waits: bool) -> None:
    findings = (finding(now, Outcome.FAIL), finding(then, Outcome.PASS))
    assert awaiting_power_cycle(findings, ("bios", "kernel", "ofed"), TRAITS) == ((now,) if waits else ())
    assert awaiting_power_cycle(findings, ("kernel",), TRAITS) == ()
    assert awaiting_power_cycle((finding(now, Outcome.COULD_NOT_RUN), finding(then, Outcome.PASS)), ("bios", "ofed"), TRAITS) == ()
