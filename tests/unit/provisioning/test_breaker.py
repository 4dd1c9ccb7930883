"""Provisioning asks the circuit breaker before it takes members out of the pool."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.pools.local import LocalPool
from clusterctl.adapters.run_directory import RunDir
from clusterctl.adapters.store import Store
from clusterctl.core.breaker import Breaker
from clusterctl.core.maintenance_windows import DatedWindow, MaintenanceWindows
from clusterctl.core.pool_limits import PoolLimits
from clusterctl.model.errors import OutsideWindowError, PoolError, UsageProblemError
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.provision import Note, ProvisionOptions
from clusterctl.model.records import RunStatus
from clusterctl.model.state import State
from clusterctl.workflows.provision.check import check_nodes
from clusterctl.workflows.provision.flow import warn
from support.provisioning import World, node

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.model.plan import Plan

N1, N2, N3 = "r12-n01", "r12-n02", "r12-n03"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_too_much_of_the_pool_at_once_is_refused_before_anything_is_touched(world: World) -> None:
    world.run()
    world.calls.clear()
    world.bad = {N1: {"kernel"}, N2: {"kernel"}}
    with pytest.raises(PoolError, match="provisioning 2 of 3 pool members") as caught:
        world.run()
    assert caught.value.exit_code is ExitCode.CONFIG
    assert "--limit" in caught.value.hint
    assert "--force" in caught.value.hint
    assert [c[0] for c in world.calls] == ["validate"]
    assert len(world.plans) == 1, "nobody was asked to agree to it"
    assert world.members() == {N1, N2, N3}
    assert world.states() == dict.fromkeys((N1, N2, N3), State.ADMITTED)
    with Store.open(world.url) as store:
        run = store.run("last")
        assert (run.status, run.exit_code) == (RunStatus.FAILED, ExitCode.CONFIG)
        assert store.leases() == ()


@pytest.mark.parametrize(
    ("bad", "force", "told"),
    [
        ((N1,), False, []),
        (
            (N1, N2),
            False,
            ["would be refused without --force: provisioning 2 of 3 pool members would take out more than 50 % within 5 min"],
        ),
        ((N1, N2), True, []),
    ],
)
def test_a_look_says_what_would_be_refused(world: World, bad: tuple[str, ...], force: bool, told: list[str]) -> None:
    world.run()
    world.progress.clear()
    world.bad = {name: {"kernel"} for name in bad}
    with Store.open(world.url) as store:
        context = world.context(store, RunDir("plan", world.state_dir), [node(n) for n in world.names], ProvisionOptions(force=force))
        warn(context, check_nodes(context).plan)
    assert [p.text for p in world.progress if isinstance(p, Note)] == told
    assert world.members() == {N1, N2, N3}


def test_force_takes_more_of_the_pool_out(world: World) -> None:
    world.run()
    world.bad = {N1: {"kernel"}, N2: {"kernel"}, N3: {"kernel"}}
    assert world.run(force=True).exit_code is ExitCode.OK
    assert world.members() == {N1, N2, N3}


def test_nodes_that_stay_in_and_nodes_that_never_were_take_nothing_out(world: World) -> None:
    world.run(N1)
    world.bad = {N1: {"kernel"}, N2: {"kernel"}, N3: {"kernel"}}
    assert world.run().exit_code is ExitCode.OK, "one member and two fresh nodes"
    world.bad = {N2: {"kernel"}}
    assert world.run().exit_code is ExitCode.OK, "one member to change and two that stay"


def test_what_was_drained_while_somebody_thought_about_the_plan_counts(world: World) -> None:
    world.run()
    world.bad = {N1: {"kernel"}}

    def agree_late(_plan: Plan) -> bool:
        with Store.open(world.url) as store:
            LocalPool.create(store).remove(N3, "drained")
        return True

    with pytest.raises(PoolError, match="provisioning 1 of 2 pool members"):
        world.run(N1, confirm=agree_late)
    assert world.members() == {N1, N2}
    assert world.states()[N1] is State.ADMITTED


def test_who_is_out_already_can_be_taken_through_again(world: World) -> None:
    world.gate_fails = {N1, N2}
    world.run()
    world.gate_fails = set()
    assert world.run(retest=True).exit_code is ExitCode.OK
    assert world.members() == {N1, N2, N3}


def test_the_site_says_how_much_may_leave(world: World) -> None:
    world.run()
    world.bad = {N1: {"kernel"}, N2: {"kernel"}}
    nodes = [node(n) for n in world.names]
    with Store.open(world.url) as store:
        context = world.context(store, RunDir("plan", world.state_dir), nodes, ProvisionOptions())
        context.limits = PoolLimits(Breaker(limit_percent=70))
        warn(context, check_nodes(context).plan)
        assert not [p for p in world.progress if isinstance(p, Note) and "refused" in p.text]
        context.limits = PoolLimits(Breaker(limit_percent=60))
        warn(context, check_nodes(context).plan)
    assert any(isinstance(p, Note) and "more than 60 %" in p.text for p in world.progress)


PAST = datetime(2020, 1, 1, tzinfo=UTC)
CLOSED = PoolLimits(windows=MaintenanceWindows((DatedWindow(PAST, PAST + timedelta(hours=1)),)))


def test_members_are_changed_in_a_maintenance_window_or_with_force_and_a_reason(world: World) -> None:
    world.limits = CLOSED
    world.run()
    assert world.members() == {N1, N2, N3}, "fresh nodes need no window"
    world.bad = {N1: {"kernel"}}
    with pytest.raises(OutsideWindowError, match="provisioning 1 of 3 pool members is planned work"):
        world.run()
    with pytest.raises(UsageProblemError, match="needs a reason"):
        world.run(force=True)
    assert world.states()[N1] is State.ADMITTED
    assert world.run(force=True, reason="CVE of the week").exit_code is ExitCode.OK
    with Store.open(world.url) as store:
        assert any("CVE of the week" in step.reason for step in store.history(N1))


def test_nothing_to_change_needs_no_window(world: World) -> None:
    world.limits = CLOSED
    world.run()
    assert world.run().exit_code is ExitCode.OK
    assert world.run(force=True).exit_code is ExitCode.OK
