"""What may leave a pool now: a breaker that tripped stays open until a person resets it, and planned work waits for its window."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.pools.headroom import Headroom
from clusterctl.adapters.pools.local import LocalPool
from clusterctl.core.breaker import Breaker
from clusterctl.core.maintenance_windows import DatedWindow, MaintenanceWindows
from clusterctl.core.pool_limits import PoolLimits
from clusterctl.model.errors import BreakerError, OutsideWindowError
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.state import State
from clusterctl.workflows.drain import drain
from support.rack_after_run import NAMES, provisioned_rack

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.adapters.store import Store

GOOD = [n for n in NAMES if n != "r12-n04"]
NOW = datetime.now(UTC)
CLOSED = PoolLimits(windows=MaintenanceWindows((DatedWindow(NOW + timedelta(hours=1), NOW + timedelta(hours=2)),)))
OPEN = PoolLimits(windows=MaintenanceWindows((DatedWindow(NOW - timedelta(hours=1), NOW + timedelta(hours=1)),)))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store, _ = provisioned_rack(tmp_path)
    for name in GOOD:
        LocalPool(store).admit(name, "run")
    return store


def take(store: Store, *names: str, limits: PoolLimits = PoolLimits(), force: bool = False) -> set[str]:  # noqa: B008 frozen
    drain(store, LocalPool(store), store.nodes(names), operator="bob", reason="new DIMMs", limits=limits, force=force)
    return set(GOOD) - LocalPool(store).members()


def test_a_breaker_that_tripped_lets_nothing_out_until_it_is_reset(store: Store) -> None:
    assert store.trip_breaker(operator="drift", reason="drift: 4 of 5")
    assert not store.trip_breaker(operator="drift", reason="drift again"), "one trip, not one for every night"
    with pytest.raises(BreakerError, match=r"open since .*: drift: 4 of 5") as caught:
        take(store, GOOD[0])
    assert "clusterctl breaker --reset" in caught.value.hint
    assert Headroom(store, LocalPool(store)).refusal(["r99-n01"], doing="x") == "", "nodes that are not members take nothing out"
    assert take(store, GOOD[0], force=True) == {GOOD[0]}
    store.reset_breaker(operator="ada", reason="a wrong limit in the profile")
    assert take(store, GOOD[1]) == set(GOOD[:2])
    assert [(e.kind, e.operator, e.reason) for e in store.breaker_events(9)] == [
        ("reset", "ada", "a wrong limit in the profile"),
        ("tripped", "drift", "drift: 4 of 5"),
    ]


def test_a_person_who_asks_for_too_much_does_not_open_it(store: Store) -> None:
    with pytest.raises(BreakerError, match="3 of 5 pool members"):
        take(store, *GOOD[:3])
    assert store.breaker_events(9) == ()
    assert take(store, GOOD[0]) == {GOOD[0]}


def test_a_reset_starts_the_window_anew(store: Store) -> None:
    take(store, *GOOD[:2])
    with pytest.raises(BreakerError):
        take(store, GOOD[2])
    store.reset_breaker(operator="ada", reason="planned")
    assert Headroom(store, LocalPool(store)).removed() == frozenset()
    assert take(store, GOOD[2]) == set(GOOD[:3])


def test_an_old_reset_does_not_lengthen_the_window(store: Store) -> None:
    store.reset_breaker(operator="ada", reason="long ago")
    take(store, GOOD[0])
    assert Headroom(store, LocalPool(store), PoolLimits(Breaker(window_s=0.0))).removed() == frozenset()


def test_planned_work_waits_for_its_window(store: Store) -> None:
    with pytest.raises(OutsideWindowError, match="draining 1 of 5 pool members is planned work") as caught:
        take(store, GOOD[0], limits=CLOSED)
    assert caught.value.exit_code is ExitCode.CHANGES_PENDING
    assert "next maintenance window opens" in caught.value.hint
    assert "--force" in caught.value.hint
    assert LocalPool(store).members() == set(GOOD)
    assert {n.state for n in store.nodes(GOOD)} == {State.ADMITTED}
    assert take(store, GOOD[0], limits=OPEN) == {GOOD[0]}


@pytest.mark.parametrize(("limits", "force"), [(CLOSED.unplanned(), False), (CLOSED, True)])
def test_faulty_nodes_and_force_do_not_wait(store: Store, limits: PoolLimits, force: bool) -> None:
    assert take(store, GOOD[0], limits=limits, force=force) == {GOOD[0]}


def test_nodes_out_of_the_pool_need_no_window(store: Store) -> None:
    assert take(store, "r12-n04", limits=CLOSED) == set()
    assert store.nodes(["r12-n04"])[0].state is State.DRAINED
