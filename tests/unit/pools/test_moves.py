"""Draining and releasing: record and pool together, each node by itself, and safe to be killed in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.pools.local import LocalPool
from clusterctl.model.errors import LeaseHeldError, PoolError, PoolUnreachableError, StoreError
from clusterctl.model.state import State
from clusterctl.workflows.drain import drain, release
from support.rack_after_run import GOOD, pooled_rack
from support.refusing_pool import RefusingPool
from support.stores import bring

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.adapters.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return pooled_rack(tmp_path)


def test_drain_tells_record_and_pool(store: Store) -> None:
    pool = LocalPool(store)
    moves = drain(store, pool, store.nodes(["r12-n01"]), operator="bob", reason="fan noise")
    assert [(m.from_state, m.to_state) for m in moves] == [(State.ADMITTED, State.DRAINED)]
    assert "r12-n01" not in pool.members()
    last = store.history("r12-n01")[-1]
    assert (last.operator, last.reason, last.run_id) == ("bob", "fan noise", "")
    assert store.leases() == ()


def test_half_of_the_pool_is_not_drained_by_accident(store: Store) -> None:
    pool = LocalPool(store)
    with pytest.raises(PoolError, match="3 of 5 pool members") as caught:
        drain(store, pool, store.nodes(GOOD[:3]), operator="bob", reason="x")
    assert "--force" in caught.value.hint
    assert len(pool.members()) == 5
    drain(store, pool, store.nodes(GOOD[:3]), operator="bob", reason="x", force=True)
    assert len(pool.members()) == 2


def test_a_node_in_a_run_is_not_drained(store: Store) -> None:
    store.acquire(["r12-n01"], run_id="run-2", holder="alice")
    with pytest.raises(LeaseHeldError):
        drain(store, LocalPool(store), store.nodes(["r12-n01", "r12-n02"]), operator="bob", reason="x")
    assert len(LocalPool(store).members()) == 5


def test_those_that_can_be_drained_are_and_each_of_the_others_is_named(store: Store) -> None:
    bring(store, "r12-n04", State.RETIRED)
    drain(store, LocalPool(store), store.nodes(["r12-n02"]), operator="ada", reason="disk", owner="ada")
    names = ["r12-n01", "r12-n02", "r12-n04"]
    moves = drain(store, LocalPool(store), store.nodes(names), operator="bob", reason="x", owner="bob")
    assert [(m.node, m.outcome.value, m.detail) for m in moves] == [
        ("r12-n01", "moved", "x"),
        ("r12-n02", "already", "by ada: disk"),
        ("r12-n04", "refused", "r12-n04 is retired: it cannot become drained"),
    ]
    assert "clusterctl release r12-n04" in moves[2].hint
    assert LocalPool(store).members() == {"r12-n03", "r12-n05", "r12-n06"}
    assert [n.owner for n in store.nodes(["r12-n01", "r12-n02"])] == ["bob", "ada"]


def test_a_drain_that_no_person_made_gets_an_owner(store: Store) -> None:
    drain(store, LocalPool(store), store.nodes(["r12-n01"]), operator="nightly", reason="drift")
    (move,) = drain(store, LocalPool(store), store.nodes(["r12-n01"]), operator="bob", reason="fan", owner="bob")
    assert (move.outcome.value, store.nodes(["r12-n01"])[0].owner) == ("moved", "bob")


def test_only_those_that_move_count_against_the_pool(store: Store) -> None:
    drain(store, LocalPool(store), store.nodes(GOOD[:2]), operator="ada", reason="x", owner="ada")
    moves = drain(store, LocalPool(store), store.nodes(GOOD[:2]), operator="bob", reason="x", owner="bob")
    assert {m.outcome.value for m in moves} == {"already"}


def test_a_node_that_somebody_returned_to_the_pool_is_taken_out_again(store: Store) -> None:
    """As a person with `scontrol update state=resume`, a program that ends drains, or a scheduler that lost its state: the record says nothing of that."""
    pool = LocalPool(store)
    drain(store, pool, store.nodes(GOOD[:2]), operator="ada", reason="fan", owner="ada")
    assert pool.admit("r12-n01", "by hand")
    moves = drain(store, pool, store.nodes(GOOD[:2]), operator="bob", reason="fan", owner="bob")
    assert [(m.outcome.value, m.detail) for m in moves] == [
        ("already", "by ada: fan; it was in the pool again, and is out now"),
        ("already", "by ada: fan"),
    ]
    assert not pool.members() & set(GOOD[:2])
    assert {m.reason for m in store.pool_members() if m.node == "r12-n01"} == {"clusterctl: person r12-n01 drained by bob: fan"}


def test_what_is_taken_out_again_counts_against_the_pool(store: Store) -> None:
    pool = LocalPool(store)
    drain(store, pool, store.nodes(GOOD[:3]), operator="ada", reason="x", owner="ada", force=True)
    for name in GOOD[:3]:
        pool.admit(name, "by hand")
    with pytest.raises(PoolError, match="3 of 5 pool members"):
        drain(store, pool, store.nodes(GOOD[:3]), operator="bob", reason="x", owner="bob")
    assert len(pool.members()) == 5, "none was taken out"


def test_a_pool_that_does_not_answer_has_no_node_that_is_drained_already(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(_pool: LocalPool) -> frozenset[str]:
        raise PoolUnreachableError(detail="no answer", hint="x")

    drain(store, LocalPool(store), store.nodes(GOOD[:1]), operator="ada", reason="x", owner="ada")
    monkeypatch.setattr(LocalPool, "members", silent)
    with pytest.raises(PoolUnreachableError):
        drain(store, LocalPool(store), store.nodes(GOOD[:1]), operator="bob", reason="x", owner="bob")


def test_a_node_that_its_scheduler_does_not_take_out_is_refused_and_no_other(store: Store) -> None:
    moves = drain(store, RefusingPool(store, ["r12-n02"]), store.nodes(GOOD[:3]), operator="bob", reason="x", force=True)
    assert [(m.node, m.outcome.value) for m in moves] == [("r12-n01", "moved"), ("r12-n02", "refused"), ("r12-n03", "moved")]
    assert (moves[1].from_state, moves[1].to_state, moves[1].hint) == (State.ADMITTED, State.ADMITTED, "wait until it is back")
    assert "Slurm reboots r12-n02" in moves[1].detail
    assert LocalPool(store).members() == {"r12-n02", *GOOD[3:]}


def test_a_scheduler_that_is_lost_midway_leaves_the_answer_of_what_was_done(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    removed: list[str] = []
    really = LocalPool.remove

    def lost_after_the_first(pool: LocalPool, node: str, reason: str) -> bool:
        removed.append(node)
        if len(removed) > 1:
            raise PoolUnreachableError(detail="slurmctld does not answer", hint="`scontrol ping`")
        return really(pool, node, reason)

    monkeypatch.setattr(LocalPool, "remove", lost_after_the_first)
    moves = drain(store, LocalPool(store), store.nodes(GOOD[:3]), operator="bob", reason="x", force=True)
    assert [(m.node, m.outcome.value) for m in moves] == [("r12-n01", "moved"), ("r12-n02", "refused"), ("r12-n03", "refused")]
    assert {(m.detail, m.hint) for m in moves[1:]} == {("slurmctld does not answer", "`scontrol ping`")}
    assert removed == ["r12-n01", "r12-n02"], "each further attempt would wait for its time limit"
    assert [n.state for n in store.nodes(GOOD[:3])] == [State.DRAINED, State.ADMITTED, State.ADMITTED]


def test_a_scheduler_that_is_lost_before_the_first_ends_it(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(_pool: LocalPool, _node: str, _reason: str) -> bool:
        raise PoolUnreachableError(detail="slurmctld does not answer", hint="")

    monkeypatch.setattr(LocalPool, "remove", lost)
    with pytest.raises(PoolUnreachableError):
        drain(store, LocalPool(store), store.nodes(GOOD[:3]), operator="bob", reason="x", force=True)
    assert {n.state for n in store.nodes(GOOD[:3])} == {State.ADMITTED}


def test_a_drained_node_that_was_returned_and_is_not_taken_out_is_refused_and_no_other(store: Store) -> None:
    drain(store, LocalPool(store), store.nodes(GOOD[:2]), operator="ada", reason="fan", owner="ada")
    for name in GOOD[:2]:
        LocalPool(store).admit(name, "by hand")
    moves = drain(store, RefusingPool(store, ["r12-n01"]), store.nodes(GOOD[:3]), operator="bob", reason="fan", owner="bob", force=True)
    assert [(m.node, m.outcome.value) for m in moves] == [("r12-n01", "refused"), ("r12-n02", "already"), ("r12-n03", "moved")]
    assert "Slurm reboots r12-n01" in moves[0].detail
    assert LocalPool(store).members() == {"r12-n01", *GOOD[3:]}


def test_a_rack_goes_to_the_vendor_but_for_those_in_service(store: Store) -> None:
    moves = drain(store, LocalPool(store), store.nodes(), operator="bob", reason="RMA 4711", to=State.RMA, owner="bob")
    assert {m.node: m.outcome.value for m in moves} == {**dict.fromkeys(GOOD, "refused"), "r12-n04": "moved"}
    assert len(LocalPool(store).members()) == 5


def test_killed_between_pool_and_record_it_is_out_of_the_pool(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_args: object, **_words: object) -> None:
        raise StoreError(path="x", detail="disk full", hint="")

    with monkeypatch.context() as patched:
        patched.setattr(store, "transition", full)
        with pytest.raises(StoreError):
            drain(store, LocalPool(store), store.nodes(["r12-n01"]), operator="bob", reason="x")
    assert "r12-n01" not in LocalPool(store).members()
    drain(store, LocalPool(store), store.nodes(["r12-n01"]), operator="bob", reason="x")
    assert store.nodes(["r12-n01"])[0].state is State.DRAINED


def test_release_admits_nothing(store: Store) -> None:
    moves = release(store, store.nodes(["r12-n04"]), operator="bob", reason="cable replaced")
    assert [(m.from_state, m.to_state) for m in moves] == [(State.QUARANTINED, State.REGISTERED)]
    assert "r12-n04" not in LocalPool(store).members()
    assert store.history("r12-n04")[-1].reason == "cable replaced"


def test_those_that_can_be_released_are(store: Store) -> None:
    moves = release(store, store.nodes(["r12-n01", "r12-n04"]), operator="bob", reason="x")
    assert [(m.node, m.outcome.value) for m in moves] == [("r12-n01", "refused"), ("r12-n04", "moved")]
    assert "drain" in moves[0].hint
    (again,) = release(store, store.nodes(["r12-n04"]), operator="bob", reason="y")
    assert (again.outcome.value, store.nodes(["r12-n04"])[0].reason) == ("already", "x")
