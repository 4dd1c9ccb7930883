"""A drain or quarantine by a person ends only by release, or where it is explicitly included."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.pools.local import LocalPool
from clusterctl.adapters.store import Store
from clusterctl.model.errors import IllegalTransitionError
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.state import State
from clusterctl.terminal.summary import lines
from clusterctl.workflows.drain import drain, release
from support.provisioning import World

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.model.records import NodeRecord

N1, N2, N3 = "r12-n01", "r12-n02", "r12-n03"
FAN = "fan noise"


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.run()
    world.calls.clear()
    return world


def take_out(world: World, to: State = State.DRAINED, owner: str = "bob") -> None:
    with Store.open(world.url) as store:
        drain(store, LocalPool(store), store.nodes([N2]), operator="bob", reason=FAN, to=to, owner=owner)


def record(world: World) -> NodeRecord:
    with Store.open(world.url) as store:
        return store.nodes([N2])[0]


@pytest.mark.parametrize("to", [State.DRAINED, State.QUARANTINED])
def test_plain_provision_leaves_it_out_and_counts_it(world: World, to: State) -> None:
    take_out(world, to)
    result = world.run(retest=True)
    assert result.exit_code is ExitCode.CHANGES_PENDING
    assert world.states() == {N1: State.ADMITTED, N2: to, N3: State.ADMITTED}
    assert world.members() == {N1, N3}
    assert all(N2 not in nodes for what, nodes in world.calls if what != "validate")
    assert (record(world).owner, record(world).reason) == ("bob", FAN)
    text = "\n".join(lines(result))
    assert f"{to.value} by bob: {FAN}" in text
    assert f"clusterctl release {N2}" in text
    assert "--include-drained" in text
    assert "--retest" not in text


@pytest.mark.parametrize("to", [State.DRAINED, State.QUARANTINED])
def test_included_explicitly_it_is_provisioned(world: World, to: State) -> None:
    take_out(world, to)
    assert world.run(include_drained=True, retest=True).exit_code is ExitCode.OK
    assert world.members() == {N1, N2, N3}
    assert record(world).owner == ""


def test_released_it_is_provisioned(world: World) -> None:
    take_out(world)
    with Store.open(world.url) as store:
        release(store, store.nodes([N2]), operator="bob", reason="fan replaced")
    assert record(world).owner == ""
    assert world.run().exit_code is ExitCode.OK


def test_a_drain_that_no_person_made_ends_with_the_next_run(world: World) -> None:
    take_out(world, owner="")
    assert world.run().exit_code is ExitCode.OK
    assert world.members() == {N1, N2, N3}


def test_an_owner_survives_what_no_person_did(world: World) -> None:
    take_out(world)
    take_out(world, owner="")
    take_out(world, State.QUARANTINED, owner="")
    assert record(world).owner == "bob"


def test_the_store_itself_refuses_to_go_on(world: World) -> None:
    take_out(world)
    with Store.open(world.url) as store:
        for to in (State.PROVISIONING, State.ADMITTED):
            with pytest.raises(IllegalTransitionError, match=f"{N2} is drained by bob: it cannot become {to}") as caught:
                store.transition(N2, to, run_id="", operator="ada")
            assert "--include-drained" in caught.value.hint
        store.transition(N2, State.ADMITTED, run_id="", operator="ada", include_owned=True)


@pytest.mark.parametrize("included", [False, True])
def test_admit_needs_it_included_too(world: World, included: bool) -> None:
    take_out(world)
    (admission,) = world.admit(N2, include_owned=included)
    assert admission.verdict.admit is included
    assert (N2 in world.members()) is included
