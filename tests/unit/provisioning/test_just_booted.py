"""A node whose links are not up yet because it has just booted is waited for; what it is judged on is what it is once it is up."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.adapters.validator_declarations import read_traits
from clusterctl.core.after_boot import SETTLED_S, coming_up
from clusterctl.model.findings import NodeFindings, NodeStatus
from clusterctl.model.provision import Note
from clusterctl.model.state import State
from clusterctl_validators.finding import Finding, Outcome, Severity
from support.provisioning import World

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.model.node import Node

N1, N2, N3 = "r12-n01", "r12-n02", "r12-n03"
FABRIC, OTHER = "hardware.gpu[0].fabric", "hardware.gpu[0].memory"
TRAITS = read_traits(())
PAUSE_S = 5.0


@dataclass
class Booting(World):
    """Nodes that have just booted: node -> the time after its boot at which its fabric is up, and the time since then."""

    up_at_s: dict[str, float] = field(default_factory=dict)
    uptime_s: dict[str, float | None] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)

    def _findings(self, one: Node) -> NodeFindings:
        found, up_s = super()._findings(one), self.uptime_s.get(one.name, 1e6)
        if found.status is not NodeStatus.OK:
            return found
        now = {FABRIC: up_s is not None and up_s >= self.up_at_s.get(one.name, 0.0), OTHER: one.name not in self.broken}
        parts = [Finding(c, "hardware", Outcome.PASS if good else Outcome.FAIL, Severity.CRITICAL) for c, good in now.items()]
        return replace(found, findings=(*found.findings, *parts), uptime_s=up_s)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Booting:
    booting = Booting(tmp_path)

    def sleep(seconds: float) -> None:
        booting.uptime_s = {n: None if up is None else up + seconds for n, up in booting.uptime_s.items()}

    monkeypatch.setattr("clusterctl.workflows.just_booted.time.sleep", sleep)
    return booting


def validated_first(world: Booting) -> list[tuple[str, ...]]:
    """The nodes of each validation until the first other operation."""
    rounds = [nodes if what == "validate" else () for what, nodes in world.calls]
    return rounds[: rounds.index(())] if () in rounds else rounds


def test_a_node_that_has_just_booted_is_waited_for(world: Booting) -> None:
    world.up_at_s, world.uptime_s = {N2: 42.0}, {N2: 30.0}
    world.run()
    assert set(world.states().values()) == {State.ADMITTED}
    assert validated_first(world) == [(N1, N2, N3), (N2,), (N2,), (N2,)]
    notes = [p.text for p in world.progress if isinstance(p, Note) and "booted" in p.text]
    assert notes == [f"{N2}: booted 30 s ago; waiting for {FABRIC}"]


NOT_WAITED_FOR: list[tuple[str, float | None, set[str]]] = [
    ("it has been up for long", SETTLED_S, set()),
    ("it does not tell when it booted", None, set()),
    ("something else is broken, too", 30.0, {N2}),
]


@pytest.mark.parametrize(("uptime_s", "broken"), [case[1:] for case in NOT_WAITED_FOR], ids=[case[0] for case in NOT_WAITED_FOR])
def test_a_node_is_judged_at_once(world: Booting, uptime_s: float | None, broken: set[str]) -> None:
    world.up_at_s, world.uptime_s, world.broken = {N2: 1e9}, {N2: uptime_s}, broken
    world.run()
    assert world.states() == {N1: State.ADMITTED, N2: State.QUARANTINED, N3: State.ADMITTED}
    assert validated_first(world) == [(N1, N2, N3)]


def test_what_never_comes_up_is_broken(world: Booting) -> None:
    world.up_at_s, world.uptime_s = {N2: 1e9}, {N2: 300.0}
    world.run()
    assert world.states()[N2] is State.QUARANTINED
    assert FABRIC in world.reasons()[N2]
    assert len(validated_first(world)) == 1 + (SETTLED_S - 300.0) / PAUSE_S


def test_a_node_that_is_lost_meanwhile_is_not_waited_for(world: Booting) -> None:
    world.up_at_s, world.uptime_s = {N2: 1e9}, {N2: 30.0}

    def lose(what: str) -> None:
        if what == "validate" and len(world.calls) == 2:
            world.lost[N2] = NodeStatus.UNREACHABLE

    world.before = lose
    world.run()
    assert validated_first(world)[:3] == [(N1, N2, N3), (N2,)]


def findings(checks: list[tuple[str, str, Outcome]], uptime_s: float | None) -> NodeFindings:
    found = tuple(Finding(check, role, outcome, Severity.MAJOR) for check, role, outcome in checks)
    return NodeFindings("n", NodeStatus.OK, "", found, 0.1, uptime_s=uptime_s)


# A check of one role is not another's, whatever its name.
CHECKS = [
    (FABRIC, "hardware", True),
    ("hardware.hca[mlx5_0].state", "hardware", True),
    ("infiniband.ports[mlx5_0].link", "infiniband", True),
    ("nvlink_domain.imex.daemon", "nvlink_domain", True),
    ("roce.rails[mlx5_0].link", "roce", True),
    (FABRIC, "kernel", False),
    (OTHER, "hardware", False),
    ("hardware.hca[mlx5_0].present", "hardware", False),
]


@given(
    st.lists(st.tuples(st.sampled_from(CHECKS), st.sampled_from(Outcome)), unique_by=lambda c: c[0][:2]),
    st.none() | st.floats(0, 2 * SETTLED_S),
)
def test_only_what_comes_up_by_itself_is_waited_for(chosen: list[tuple[tuple[str, str, bool], Outcome]], uptime_s: float | None) -> None:
    failing = [case for case, outcome in chosen if outcome in (Outcome.FAIL, Outcome.COULD_NOT_RUN)]
    waits = uptime_s is not None and uptime_s < SETTLED_S and all(comes for *_, comes in failing)
    found = coming_up(findings([(check, role, outcome) for (check, role, _), outcome in chosen], uptime_s), TRAITS)
    assert found == (tuple(check for check, *_ in failing) if waits else ())
