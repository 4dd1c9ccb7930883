from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters import processes
from clusterctl.adapters.run_directory import RunDir
from clusterctl.adapters.store import Store
from clusterctl.model.errors import InterruptedRunError, UnknownRunError, UsageProblemError
from clusterctl.model.holder import Holder
from clusterctl.model.provision import Phase, ProvisionOptions
from clusterctl.model.records import RunStatus
from clusterctl.workflows.provision.request import ProvisionRequest
from clusterctl.workflows.provision.resume import resumed, save_request, take_over
from support.provisioning import World, node
from support.stores import a_run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path, role_fails={"r12-n01"}, bad={n: {"kernel"} for n in ("r12-n01", "r12-n02", "r12-n03")})


@pytest.fixture
def store(world: World) -> Iterator[Store]:
    with Store.open(world.url) as opened:
        yield opened


def interrupted(world: World) -> str:
    def stop(what: str) -> None:
        if what == "burn_in":
            raise KeyboardInterrupt

    world.before = stop
    with pytest.raises(InterruptedRunError):
        world.run()
    with Store.open(world.url) as store:
        return store.runs()[0].id


def test_what_is_left_of_an_interrupted_run_and_its_options_come_back(world: World, store: Store) -> None:
    run = interrupted(world)
    rundir = RunDir.open(world.state_dir / "runs" / run)
    options = ProvisionOptions(level="full", roles=("kernel",), reboot=False, partners=("r12-n09",), ansible_args=("-e", "x=1"))
    save_request(rundir, ProvisionRequest("rack-12", options, inventory=(world.state_dir,)), "rack-12")
    left = resumed(store, run[:-2], ("--become",))
    assert left.nodes == ("r12-n02", "r12-n03"), "the first was quarantined, so its way ended"
    assert left.options == ProvisionOptions(
        level="full", roles=("kernel",), reboot=False, partners=("r12-n09",), ansible_args=("--become",)
    )
    assert left.inventory == (world.state_dir,)


def test_a_finished_run_cannot_be_resumed(world: World, store: Store) -> None:
    run = world.run().run_id
    with pytest.raises(UsageProblemError, match="nothing of run"):
        resumed(store, run, ())


def test_an_unknown_run_cannot_be_resumed(store: Store) -> None:
    with pytest.raises(UnknownRunError):
        resumed(store, "2020", ())


def test_a_run_at_work_is_neither_resumed_nor_taken_over(world: World, store: Store) -> None:
    seen: list[tuple[str, ...]] = []

    def look(what: str) -> None:
        if what == "burn_in":
            with pytest.raises(UsageProblemError, match="still in progress"):
                resumed(store, "last", ())
            seen.append(take_over(store, world.names))

    world.before = look
    world.run()
    assert seen == [()]
    assert store.run("last").status is RunStatus.DONE


@pytest.mark.parametrize(("phases", "closed"), [((Phase.DONE, Phase.DONE), True), ((Phase.DONE, Phase.VERIFY), False)])
def test_a_run_that_died_before_its_end_was_recorded_is_closed(
    world: World, store: Store, phases: tuple[Phase, Phase], closed: bool
) -> None:
    store.register([node(n) for n in world.names])
    gone = Holder(processes.current().host, 1, "another-boot/pid:[1]/1")
    store.start_run(replace(a_run(), holder=gone), world.names[:2])
    for name, phase in zip(world.names, phases, strict=False):
        store.save_run_node(a_run().id, name, phase=phase.value)
    assert take_over(store, world.names[:1]) == ()
    assert store.run(a_run().id).status is (RunStatus.ABANDONED if closed else RunStatus.RUNNING)
