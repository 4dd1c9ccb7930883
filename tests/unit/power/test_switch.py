"""One node and the turns of racks, on fake machines without waiting."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from clusterctl.adapters.ssh.remote_result import TransportError, TransportFailure
from clusterctl.model.power import Boot, PowerAction, PowerOutcome, PowerReport, PowerView
from clusterctl.workflows.power.switch import NodeSwitch, PowerLimits
from clusterctl.workflows.power.turns import switch_racks
from clusterctl_tools.redfish import BmcError, UnreachableError

ALL = ("On", "ForceOff", "GracefulShutdown", "GracefulRestart", "ForceRestart", "PowerCycle")
QUICK = PowerLimits(off_s=0.02, back_s=0.05, away_s=0.02, restore_s=0.02, pause_s=0, poll_s=0.001)


@dataclass
class Fake:
    """A machine: `deaf` ignores graceful requests, `dead` does not come back, `broken` has a BMC that does not answer.

    `ac`: it offers an AC power cycle; `away`: requests that its BMC leaves unanswered after one; `restores`: the host comes back with its power;
    `breaks_off`: the BMC does not end its answer.
    """

    name: str = "n1"
    power: str = "on"
    serial: str = "S1"
    resets: tuple[str, ...] = ALL
    deaf: bool = False
    dead: bool = False
    broken: bool = False
    swapped: str = ""
    ac: bool = True
    away: int = 3
    restores: bool = True
    breaks_off: bool = False
    silent: int = 0
    boots: int = 1
    done: list[str] = field(default_factory=list)
    others_down: list[int] = field(default_factory=list)

    def view(self) -> PowerView:
        if self.broken or self.silent:
            self.silent = max(0, self.silent - 1)
            raise BmcError("cannot be reached: Connection refused")
        return PowerView(self.power, self.serial, self.resets)

    def reset(self, kind: str) -> None:
        self.done.append(kind)
        if kind in ("GracefulShutdown", "GracefulRestart") and self.deaf:
            return
        self.power = "off" if kind in ("ForceOff", "GracefulShutdown") else "on"
        self.boots += self.power == "on"
        self.serial = self.swapped or self.serial

    def offers_ac_cycle(self) -> bool:
        return self.ac

    def ac_cycle(self) -> None:
        assert self.power == "off"
        self.done.append("AC")
        self.silent = self.away
        self.power = "on" if self.restores else "off"
        self.boots += self.restores
        if self.breaks_off:
            raise UnreachableError("cannot be reached: it breaks off its answer")

    async def boot(self) -> Boot:
        if self.power != "on" or (self.dead and self.boots > 1):
            raise TransportError(TransportFailure.UNREACHABLE, "Connection refused")
        return Boot(f"boot-{self.boots}", 12.0)


def switched(fake: Fake, action: PowerAction, limits: PowerLimits = QUICK) -> PowerReport:
    return asyncio.run(NodeSwitch(fake.name, fake, fake.boot, limits).run(action))


# long where a busy machine may need it, short where the time is waited out
AC = PowerLimits(off_s=10, back_s=10, away_s=0.02, restore_s=0.02, pause_s=0, poll_s=0.001)
FORCE = PowerLimits(force=True, off_s=0.02, back_s=0.05, pause_s=0, poll_s=0.001)
VIKING = ("ForceOff", "ForceRestart", "GracefulShutdown", "On")
STEPS: list[tuple[str, PowerAction, Fake, PowerLimits, list[str], PowerOutcome, str]] = [
    ("on", PowerAction.ON, Fake(power="off"), QUICK, ["On"], PowerOutcome.DONE, "on"),
    ("on already", PowerAction.ON, Fake(), QUICK, [], PowerOutcome.UNCHANGED, "on"),
    ("off", PowerAction.OFF, Fake(), QUICK, ["GracefulShutdown"], PowerOutcome.DONE, "off"),
    ("off already", PowerAction.OFF, Fake(power="off"), QUICK, [], PowerOutcome.UNCHANGED, "off"),
    ("off by force", PowerAction.OFF, Fake(deaf=True), FORCE, ["ForceOff"], PowerOutcome.DONE, "off"),
    ("cycle", PowerAction.CYCLE, Fake(), QUICK, ["GracefulShutdown", "On"], PowerOutcome.DONE, "on"),
    ("cycle by force", PowerAction.CYCLE, Fake(deaf=True), FORCE, ["ForceOff", "On"], PowerOutcome.DONE, "on"),
    ("cycle of one that is off", PowerAction.CYCLE, Fake(power="off"), QUICK, ["On"], PowerOutcome.DONE, "on"),
    ("AC cycle", PowerAction.AC_CYCLE, Fake(), AC, ["GracefulShutdown", "AC"], PowerOutcome.DONE, "on"),
    ("AC cycle of one that is off", PowerAction.AC_CYCLE, Fake(power="off"), AC, ["AC"], PowerOutcome.DONE, "on"),
    (
        "AC cycle of one that stays off",
        PowerAction.AC_CYCLE,
        Fake(restores=False),
        AC,
        ["GracefulShutdown", "AC", "On"],
        PowerOutcome.DONE,
        "on",
    ),
    ("AC cycle with a BMC that stays", PowerAction.AC_CYCLE, Fake(away=0), AC, ["GracefulShutdown", "AC"], PowerOutcome.DONE, "on"),
    ("reboot", PowerAction.REBOOT, Fake(), QUICK, ["GracefulRestart"], PowerOutcome.DONE, "on"),
    ("reboot by force", PowerAction.REBOOT, Fake(deaf=True), FORCE, ["ForceRestart"], PowerOutcome.DONE, "on"),
    ("reboot of a DGX", PowerAction.REBOOT, Fake(resets=VIKING), QUICK, ["GracefulShutdown", "On"], PowerOutcome.DONE, "on"),
    ("offers nothing by name", PowerAction.REBOOT, Fake(resets=()), QUICK, ["GracefulRestart"], PowerOutcome.DONE, "on"),
]


@pytest.mark.parametrize(("action", "fake", "limits", "resets", "outcome", "power"), [s[1:] for s in STEPS], ids=[s[0] for s in STEPS])
def test_steps(action: PowerAction, fake: Fake, limits: PowerLimits, resets: list[str], outcome: PowerOutcome, power: str) -> None:
    report = switched(fake, action, limits)
    assert (fake.done, report.outcome, report.power) == (resets, outcome, power), report.detail
    assert (report.boot is not None) == (power == "on")


FAILURES: list[tuple[str, PowerAction, Fake, str, bool]] = [
    ("broken BMC", PowerAction.OFF, Fake(broken=True), "its BMC: cannot be reached", False),
    ("deaf to off", PowerAction.OFF, Fake(deaf=True), "still on 0.02 s after GracefulShutdown; --force", True),
    ("deaf to cycle", PowerAction.CYCLE, Fake(deaf=True), "still on", True),
    ("deaf to reboot", PowerAction.REBOOT, Fake(deaf=True), "boot id is still boot-1: it did not reboot", True),
    ("does not come back", PowerAction.CYCLE, Fake(dead=True), "not back after 0.05 s: SSH does not answer: Connection refused", True),
    ("reboot of one that is off", PowerAction.REBOOT, Fake(power="off"), "is off: `clusterctl power on`", False),
    ("no graceful off", PowerAction.OFF, Fake(resets=("On", "ForceOff")), "offers no GracefulShutdown (On, ForceOff); --force", False),
    ("no AC cycle", PowerAction.AC_CYCLE, Fake(ac=False), "offers no AC power cycle that is known", False),
    (
        "AC cycle without an answer",
        PowerAction.AC_CYCLE,
        Fake(breaks_off=True, away=0),
        "is back, but whether its standby power was gone is not known: its BMC cannot be reached",
        False,
    ),
    ("BMC does not come back", PowerAction.AC_CYCLE, Fake(away=10**6), "its BMC does not answer 0.05 s after the AC power cycle", True),
    ("another machine", PowerAction.CYCLE, Fake(swapped="S2"), "another machine answers: serial S1 -> S2", True),
]


@pytest.mark.parametrize(("action", "fake", "why", "down"), [f[1:] for f in FAILURES], ids=[f[0] for f in FAILURES])
def test_failures(action: PowerAction, fake: Fake, why: str, down: bool) -> None:
    report = switched(fake, action)
    assert report.outcome is PowerOutcome.FAILED
    assert why in report.detail
    assert report.down is down


def racks(*fakes: Fake) -> dict[str, list[NodeSwitch]]:
    found: dict[str, list[NodeSwitch]] = {}
    for fake in fakes:
        found.setdefault(fake.name.split("-")[0], []).append(NodeSwitch(fake.name, fake, fake.boot, QUICK))
    return found


def outcomes(fakes: list[Fake], action: PowerAction, budget: str) -> dict[str, str]:
    ended: list[PowerReport] = []
    found = asyncio.run(switch_racks(racks(*fakes), action, budget, ended.append))
    assert {r.node for r in ended} == set(found)
    return {name: report.outcome.value for name, report in found.items()}


def test_one_bad_bmc_does_not_end_the_others() -> None:
    fakes = [Fake("r1-n1", broken=True), Fake("r1-n2"), Fake("r2-n1")]
    assert outcomes(fakes, PowerAction.CYCLE, "1") == {"r1-n1": "failed", "r1-n2": "done", "r2-n1": "done"}


def test_lost_nodes_use_up_the_budget_of_their_rack_only() -> None:
    fakes = [Fake(f"r1-n{i}", dead=True) for i in range(1, 7)] + [Fake("r2-n1"), Fake("r2-n2")]
    found = outcomes(fakes, PowerAction.CYCLE, "50%")
    assert sorted(found.values()) == ["done", "done", "failed", "failed", "failed", "not_tried", "not_tried", "not_tried"]
    assert (found["r2-n1"], found["r1-n1"], found["r1-n6"]) == ("done", "failed", "not_tried")
    assert all(not f.done for f in fakes if found[f.name] == "not_tried")


def test_what_was_not_tried_says_why() -> None:
    fakes = [Fake("r1-n1", dead=True), Fake("r1-n2")]
    found = asyncio.run(switch_racks(racks(*fakes), PowerAction.REBOOT, "1", lambda _report: None))
    assert found["r1-n2"].detail == "not tried: r1-n1 did not come back, and no more than 1 of r1 may be down at once"


@dataclass
class Counting(Fake):
    """Counts how many of its rack are down at the same time."""

    peers: list[Fake] = field(default_factory=list)

    def reset(self, kind: str) -> None:
        super().reset(kind)
        self.others_down.append(sum(p.power == "off" for p in self.peers))


@pytest.mark.parametrize(("budget", "most"), [("50%", 2), ("1", 1), ("100%", 4)])
def test_no_more_are_down_at_once_than_the_budget_allows(budget: str, most: int) -> None:
    fakes = [Counting(f"r1-n{i}") for i in range(4)]
    for fake in fakes:
        fake.peers = list(fakes)
    assert set(outcomes(list(fakes), PowerAction.CYCLE, budget).values()) == {"done"}
    assert max(n for f in fakes for n in f.others_down) <= most


def test_off_and_on_need_no_budget() -> None:
    fakes = [Fake(f"r1-n{i}", deaf=i < 3) for i in range(4)]
    assert list(outcomes(fakes, PowerAction.OFF, "1").values()).count("not_tried") == 0
