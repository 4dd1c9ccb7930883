"""Whatever others read meanwhile, and from whichever checkout: a run decides on what it declares and has seen, and each node by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.adapters.store import Store
from clusterctl.model.errors import LeaseHeldError, PoolError
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.state import State
from clusterctl.workflows.admit import Admitter
from support.provisioning import World

if TYPE_CHECKING:
    from pathlib import Path

N1, N2, N3 = "r12-n01", "r12-n02", "r12-n03"
ALL = (N1, N2, N3)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path, bad={n: {"kernel"} for n in ALL}, reboot={"kernel"}, pairs=True)


def put_back(world: World, *names: str) -> None:
    """Nodes that nothing is known of, as after a repair."""
    with Store.open(world.url) as store:
        for name in names:
            store.transition(name, State.DRAINED, run_id="", operator="ada")
            store.transition(name, State.REGISTERED, run_id="", operator="ada")


def left_measured(world: World, monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Admitted are all but these, which a killed run left measured."""
    enter = Admitter.enter_pool

    def stop(self: Admitter, candidate: Any, *rest: Any) -> None:
        if candidate.node.name in names:
            raise KeyError("killed")
        enter(self, candidate, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(Admitter, "enter_pool", stop)
        with pytest.raises(KeyError):
            world.run(force=True)


@pytest.mark.parametrize("operation", ["validate", "provision kernel", "reboot", "burn_in"])
@pytest.mark.parametrize("names", [(), (N1,)])
@pytest.mark.parametrize("digest", ["d1", "d2"])
def test_a_look_from_another_checkout_changes_no_decision(world: World, operation: str, names: tuple[str, ...], digest: str) -> None:
    world.once_before(operation, lambda: world.looked_at(*names, digest=digest, fails=True))
    assert world.run().exit_code is ExitCode.OK
    assert world.members() == set(ALL)
    with Store.open(world.url) as store:
        assert {n.declared_digest for n in store.nodes()} == {"d1"}
        assert {len(store.admissions(n)) for n in ALL} == {1}


def test_a_look_at_a_node_that_a_run_holds_is_no_evidence(world: World) -> None:
    seen = []

    def look() -> None:
        world.looked_at(N1, digest="d1", fails=True)
        with Store.open(world.url) as store:
            seen.append(store.findings(N1, current=True))
            assert store.findings(N1) is not None, "it is kept for people"

    world.once_before("burn_in", look)
    world.run()
    assert seen[0] is not None
    assert all(f.outcome == "pass" for f in seen[0].findings)


def test_a_look_that_is_over_leaves_the_evidence_of_a_drained_node(world: World) -> None:
    world.run()
    with Store.open(world.url) as store:
        store.transition(N1, State.DRAINED, run_id="", operator="ada")
    world.looked_at(digest="d2")
    (admission,) = world.admit(N1)
    assert admission.verdict.admit


def test_a_new_node_is_recorded_by_a_look(world: World) -> None:
    world.looked_at(digest="d2")
    assert world.states() == dict.fromkeys(ALL, State.REGISTERED)


def test_a_run_that_is_refused_declares_nothing(world: World) -> None:
    def second() -> None:
        other = World(world.state_dir, digest="d2")
        with pytest.raises(LeaseHeldError):
            other.run()

    world.once_before("burn_in", second)
    assert world.run().exit_code is ExitCode.OK
    assert world.members() == set(ALL)


@pytest.mark.parametrize("operation", ["provision kernel", "reboot", "burn_in"])
def test_a_transition_that_the_record_refuses_ends_its_node_and_no_other(world: World, operation: str) -> None:
    def take_out() -> None:
        with Store.open(world.url) as store:
            store.transition(N2, State.MAINTENANCE, run_id="", operator="bob", owner="bob")

    world.once_before(operation, take_out)
    result = world.run()
    assert world.states() == {N1: State.ADMITTED, N2: State.MAINTENANCE, N3: State.ADMITTED}
    ended = {n.node: n for n in result.nodes}
    assert ended[N2].exit_code is ExitCode.CHANGES_PENDING
    assert ended[N2].state is State.MAINTENANCE
    assert "cannot become" in ended[N2].reason
    assert ended[N1].exit_code is ended[N3].exit_code is ExitCode.OK


def test_nodes_admitted_by_this_run_measure_with_the_third(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    left_measured(world, monkeypatch, N1)
    with Store.open(world.url) as store:
        store.transition(N3, State.PROVISIONING, run_id="", operator="ada")
    assert world.states() == {N1: State.VALIDATED, N2: State.VALIDATED, N3: State.PROVISIONING}
    world.calls.clear()
    assert world.run().exit_code is ExitCode.OK
    assert ("burn_in", (N3,)) in world.calls
    assert ("burn_in", (N1, N2, N3)) not in world.calls
    assert world.members() == set(ALL)
    assert any(f"measured with {N1}, {N2}: admitted just now" in getattr(p, "text", "") for p in world.progress)


def test_where_they_were_not_admitted_an_admitted_node_stays_in_service(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.run()
    put_back(world, N1, N2)
    world.bad = {}
    left_measured(world, monkeypatch, N1, N2)
    world.bad = {N3: {"kernel"}}

    def refuse(*_words: object) -> None:
        raise PoolError(detail="the scheduler refuses", hint="look there")

    monkeypatch.setattr(Admitter, "enter_pool", refuse)
    world.calls.clear()
    result = world.run(force=True)
    assert [c[0] for c in world.calls] == ["validate"], "nothing was changed"
    assert world.states()[N3] is State.ADMITTED
    assert N3 in world.members()
    assert next(n for n in result.nodes if n.node == N3).exit_code is ExitCode.USAGE
