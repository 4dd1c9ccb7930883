"""Pools undo only what we did, are found by name, and are not emptied at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.adapters import clock
from clusterctl.adapters.pools.base import Pool, is_ours, signed
from clusterctl.adapters.pools.headroom import Headroom
from clusterctl.adapters.pools.local import LocalPool
from clusterctl.core import timestamps
from clusterctl.core.breaker import Breaker
from clusterctl.model.errors import PoolError
from support.stores import a_node, fresh

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.adapters.store import Store

NAME = "r12-n01"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = fresh(tmp_path)
    store.register([a_node(), a_node("r12-n02")])
    return store


def test_in_and_out(store: Store) -> None:
    pool = LocalPool.create(store)
    assert isinstance(pool, Pool)
    assert pool.members() == frozenset()
    assert pool.admit(NAME, "run 1")
    assert not pool.admit(NAME, "run 1")
    assert pool.members() == {NAME}
    assert pool.remove(NAME, "run 2")
    assert not pool.remove(NAME, "run 2")
    assert pool.members() == frozenset()
    assert [m.reason for m in store.pool_members()] == ["clusterctl: run 2"]


def test_a_foreign_removal_stays(store: Store) -> None:
    store.change_member(NAME, member=False, reason="bob: fan replaced", may=lambda _present: None)
    pool = LocalPool.create(store)
    assert not pool.remove(NAME, "run 1")
    with pytest.raises(PoolError, match="fan replaced") as caught:
        pool.admit(NAME, "run 1")
    assert "undoes only what it did" in caught.value.hint
    assert [m.reason for m in store.pool_members()] == ["bob: fan replaced"]
    assert pool.removed_since("") == frozenset()


def test_what_we_removed_lately(store: Store) -> None:
    pool = LocalPool.create(store)
    for name in (NAME, "r12-n02"):
        pool.admit(name, "")
    pool.remove(NAME, "run 1")
    assert pool.removed_since(timestamps.after(clock.now(), -60)) == {NAME}
    assert pool.removed_since(timestamps.after(clock.now(), 60)) == frozenset()


def test_a_node_that_never_was_in_is_not_taken_out(store: Store) -> None:
    pool = LocalPool.create(store)
    assert not pool.remove(NAME, "provisioning: all roles")
    assert pool.removed_since("") == frozenset()
    assert pool.admit(NAME, "run 1")


def test_room_is_demanded_of_members_only(store: Store) -> None:
    pool = LocalPool.create(store)
    for name in (NAME, "r12-n02"):
        pool.admit(name, "")
    Headroom(store, pool).require([NAME, "r99-n01", "r99-n02"], doing="x", hint="")
    with pytest.raises(PoolError, match="moving 2 of 2 pool members") as caught:
        Headroom(store, pool).require([NAME, "r12-n02"], doing="moving", hint="wait")
    assert caught.value.hint == "wait"


def test_signing_is_done_once() -> None:
    assert signed(signed("x")) == signed("x") == "clusterctl: x"
    assert is_ours(signed("x"))
    assert not is_ours("NHC: clusterctl: x")


@pytest.mark.parametrize(
    ("members", "removed", "wanted", "trips"),
    [
        ("abcdef", "", "abc", False),
        ("abcdef", "", "abcd", True),
        ("abcdef", "", "xyzw", False),
        ("cdef", "ab", "c", False),
        ("cdef", "ab", "cd", True),
        ("def", "abc", "d", True),
        ("a", "", "a", False),
        ("b", "a", "b", True),
        ("", "", "", False),
    ],
)
def test_breaker(members: str, removed: str, wanted: str, trips: bool) -> None:
    assert Breaker().trips(set(members), set(removed), set(wanted)) is trips


@given(st.sets(st.integers(0, 60), min_size=2), st.floats(1, 99))
def test_one_by_one_the_breaker_lets_no_more_through_than_its_share(nodes: set[int], percent: float) -> None:
    breaker = Breaker(limit_percent=percent)
    members, removed = {str(n) for n in nodes}, set[str]()
    while members and not breaker.trips(members, removed, [min(members)]):
        removed.add(min(members))
        members.remove(min(members))
    assert len(removed) <= max(1, len(nodes) * percent / 100)
