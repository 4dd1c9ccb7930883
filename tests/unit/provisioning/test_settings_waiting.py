"""Settings that a role stored are read back after each reset: a warm reboot, one power cycle, then the node is out. Fake nodes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest

from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.findings import NodeFindings, NodeStatus
from clusterctl.model.playbook_result import HostOutcome, HostStatus, TaskFailure
from clusterctl.model.power import PowerOutcome, PowerReport
from clusterctl.model.state import State
from support.provisioning import World, node

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from clusterctl.model.node import Node
    from clusterctl.model.task_event import TaskEvent

NAME = "r12-n01"
NEVER, POWER, REBOOT = "never", "power", "reboot"
WAITS = "0000:18:00.0 LINK_TYPE_P1: IB(1) in force, ETH(2) stored"


@dataclass
class StoredWorld(World):
    """One node whose role ofed stores a setting.

    Attributes:
        brought_by: the reset that brings the setting into force.
        links: whether the links come up without it.
        ends: how the power cycle ends, if it is not done.
        hidden: rounds in which the role stores one more setting that a warm reboot brings.
        stored: the setting is stored and not in force.
        reset: a reset has happened since it was stored.
    """

    names: Sequence[str] = (NAME,)
    bmc_url: str = "https://192.0.2.1"
    brought_by: str = POWER
    links: bool = True
    ends: PowerReport | None = None
    hidden: int = 0
    stored: bool = False
    before: Callable[[str], None] = lambda _what: None
    rounds: list[tuple[str, ...]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.bad = {NAME: {"ofed", "kernel"}}
        self.reboot = {"kernel"}

    def node(self, name: str) -> Node:
        return replace(node(name, self.digest, ("kernel", "ofed")), bmc_url=self.bmc_url)

    def power_cycle(self, nodes: Sequence[Node]) -> Sequence[PowerReport]:
        reports = super().power_cycle(nodes)
        if self.ends:
            return [self.ends]
        self.stored = self.stored and self.brought_by == NEVER
        return reports

    def _played(self, name: str, what: str, roles: Sequence[str], on_event: Callable[[TaskEvent], None] | None) -> HostOutcome:
        if what == "reboot":
            self.stored = self.stored and self.brought_by != REBOOT
            if self.stored and not self.links:
                return HostOutcome(
                    name, HostStatus.FAILED, failures=(TaskFailure("Check that the links are up", "", "links down: mlx5_0"),)
                )
        if what == "booted" and name in self.no_return:
            return HostOutcome(name, HostStatus.FAILED, failures=(TaskFailure("Check that the links are up", "", "links down: mlx5_0"),))
        made = super()._played(name, what, roles, on_event)
        if what != "provision" or "ofed" not in roles or made.status is not HostStatus.OK:
            return made
        found = (WAITS,) if self.stored else ()
        first = not self.rounds
        self.rounds.append(found)
        more = not first and self.hidden > 0
        self.hidden -= int(more)
        self.stored = self.stored or first
        pending = ("ofed",) if self.stored or more else ()
        return replace(made, reboot_required=tuple(sorted({*made.reboot_required, *pending})), apply_again=pending, waiting=found)

    def _findings(self, one: Node) -> NodeFindings:
        waits = self.stored or (bool(self.rounds) and self.hidden > 0)
        self.bad[one.name] |= {"ofed"} if waits else set()
        return super()._findings(one)

    def steps(self) -> list[str]:
        return [what for what, _ in self.calls if what.split()[0] in ("provision", "reboot", "power_cycle", "booted")]


@pytest.fixture
def world(tmp_path: Path) -> StoredWorld:
    return StoredWorld(tmp_path)


def test_a_reboot_that_brought_the_setting_is_believed_when_it_was_read_back(world: StoredWorld) -> None:
    world.brought_by = REBOOT
    world.run()
    assert [what for what, _ in world.calls] == [
        "validate",
        "provision kernel,ofed",
        "reboot",
        "validate",
        "burn_in",
        "validate",
    ]
    assert world.states() == {NAME: State.ADMITTED}


def test_what_fails_when_it_is_read_back_is_validated_again(world: StoredWorld) -> None:
    """What the reboot started may come up late."""
    world.brought_by = REBOOT
    bad = iter([{"kernel"}, set[str]()])

    def come_up(what: str) -> None:
        if what == "validate" and any(c == "reboot" for c, _ in world.calls):
            world.bad[NAME] = next(bad, set())

    world.before = come_up
    world.run()
    assert [what for what, _ in world.calls][2:] == ["reboot", "validate", "validate", "burn_in", "validate"]
    assert world.states() == {NAME: State.ADMITTED}


def test_a_part_of_the_changed_nodes_that_was_read_back_is_validated_with_the_others(
    world: StoredWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = "r12-n02"
    world.brought_by, world.names, world.bad = REBOOT, (NAME, other), {NAME: {"ofed", "kernel"}, other: {"kernel"}}
    stores = {NAME: ("kernel", "ofed"), other: ("kernel",)}
    monkeypatch.setattr(world, "node", lambda name: replace(node(name, world.digest, stores[name]), bmc_url=world.bmc_url))
    world.run()
    assert [names for what, names in world.calls if what == "validate"] == [(NAME, other), (NAME,), (NAME, other), (NAME, other)]
    assert world.states() == {NAME: State.ADMITTED, other: State.ADMITTED}


def test_what_the_validators_cannot_read_back_is_read_by_its_role(world: StoredWorld) -> None:
    lost = {"reboot": {NAME: NodeStatus.CRASHED}, "provision ofed": {}}
    world.brought_by = REBOOT

    def lose(what: str) -> None:
        world.lost = lost.get(what, world.lost)

    world.before = lose
    world.run()
    assert [what for what, _ in world.calls][2:] == ["reboot", "validate", "provision ofed", "validate", "burn_in", "validate"]
    assert world.states() == {NAME: State.ADMITTED}


def test_what_the_reboot_did_not_bring_gets_one_power_cycle_and_is_read_again(world: StoredWorld) -> None:
    world.run()
    assert world.steps() == ["provision kernel,ofed", "reboot", "provision ofed", "power_cycle", "booted"]
    assert world.rounds == [(), (WAITS,)]
    assert world.states() == {NAME: State.ADMITTED}


def test_what_a_power_cycle_does_not_bring_keeps_the_node_out(world: StoredWorld) -> None:
    world.brought_by = NEVER
    result = world.run()
    assert world.steps().count("power_cycle") == 1
    assert world.states() == {NAME: State.QUARANTINED}
    (reason,) = result.nodes[0].reasons
    assert reason.text == f"stored, but not in force after a power cycle: {WAITS}"
    assert "standby power" in reason.hint
    assert result.exit_code is ExitCode.ROLE_FAILED


NOT_CYCLED = [
    ("no BMC", "", None, "power-cycle it manually"),
    ("refused", "https://192.0.2.1", PowerReport(NAME, PowerOutcome.FAILED, detail="its BMC: HTTP 401"), f"clusterctl bmc {NAME}"),
    ("no budget", "https://192.0.2.1", PowerReport(NAME, PowerOutcome.NOT_TRIED, detail="not tried: ..."), f"clusterctl bmc {NAME}"),
]


@pytest.mark.parametrize(("bmc_url", "ends", "hint"), [n[1:] for n in NOT_CYCLED], ids=[n[0] for n in NOT_CYCLED])
def test_a_node_that_cannot_be_power_cycled_says_what_waits(world: StoredWorld, bmc_url: str, ends: PowerReport | None, hint: str) -> None:
    world.bmc_url, world.ends = bmc_url, ends
    (reason,) = world.run().nodes[0].reasons
    assert reason.text == f"stored, but not in force after a reboot: {WAITS}"
    assert hint in reason.hint
    assert world.steps()[-1] == ("power_cycle" if bmc_url else "provision ofed"), "no second warm reboot"


def test_links_that_wait_for_the_setting_do_not_prevent_the_power_cycle(world: StoredWorld) -> None:
    world.links = False
    world.run()
    assert world.steps() == ["provision kernel,ofed", "reboot", "provision ofed", "power_cycle", "booted"]
    assert world.states() == {NAME: State.ADMITTED}


def test_links_that_are_down_for_another_reason_keep_the_node_out(world: StoredWorld) -> None:
    world.brought_by = REBOOT
    world.no_return = {NAME}
    world.run()
    assert world.steps() == ["provision kernel,ofed", "reboot"]
    assert "timed out" in world.reasons()[NAME]


def test_a_node_without_a_bmc_whose_links_are_down_is_not_asked_again(world: StoredWorld) -> None:
    world.links, world.bmc_url = False, ""
    world.run()
    assert world.steps() == ["provision kernel,ofed", "reboot"]
    assert "links down" in world.reasons()[NAME]


def test_a_setting_stored_after_the_first_reboot_gets_a_warm_one_first(world: StoredWorld) -> None:
    world.brought_by, world.hidden = REBOOT, 1
    world.run()
    assert world.steps() == ["provision kernel,ofed", "reboot", "provision ofed", "reboot"]
    assert world.states() == {NAME: State.ADMITTED}


def test_nothing_is_read_back_without_a_reboot(world: StoredWorld) -> None:
    world.run(reboot=False)
    assert world.steps() == ["provision kernel,ofed"]
    assert world.states() == {NAME: State.QUARANTINED}
