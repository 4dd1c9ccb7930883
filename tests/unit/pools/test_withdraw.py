"""Nodes that are no more leave the pool, whatever they were."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.config import Config
from clusterctl.adapters.pools.local import LocalPool
from clusterctl.model.errors import LeaseHeldError
from clusterctl.model.state import State
from clusterctl.workflows.withdraw import withdraw
from clusterctl_lab.ghosts import without_ghosts
from support.rack_after_run import GOOD, NAMES, pooled_rack
from support.stores import bring

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.adapters.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return pooled_rack(tmp_path)


def test_no_node_is_left_in_the_pool_and_nothing_of_it_is_proven(store: Store) -> None:
    bring(store, "r12-n02", State.DRAINED, State.PROVISIONING)
    bring(store, "r12-n03", State.DRAINED, State.RMA)
    withdrawn = withdraw(store, LocalPool(store), NAMES, operator="ada", reason="gone")
    assert set(withdrawn) == set(NAMES) - {"r12-n03"}
    assert LocalPool(store).members() == frozenset()
    states = {n.name: n.state for n in store.nodes()}
    assert states == {**dict.fromkeys(NAMES, State.REGISTERED), "r12-n03": State.RMA}
    assert store.findings("r12-n01", current=True) is None
    assert withdraw(store, LocalPool(store), ["r12-n01", "unknown"], operator="ada", reason="gone") == ()


def test_a_node_in_a_run_is_not_taken_from_it(store: Store) -> None:
    store.acquire(["r12-n01"], run_id="run-2", holder="grace")
    with pytest.raises(LeaseHeldError):
        withdraw(store, LocalPool(store), NAMES, operator="ada", reason="gone")
    assert LocalPool(store).members() == set(GOOD)


def test_lab_down_says_which_run_keeps_its_nodes_in_the_record(store: Store, tmp_path: Path) -> None:
    config = Config(root=tmp_path, inventory=(), state_dir=tmp_path, operator="ada")
    store.acquire(["r12-n01"], run_id="run-2", holder="grace")
    assert "r12-n01 is held by grace (run run-2)" in without_ghosts(config, ["r12-n01"])
    store.release("run-2")
    assert without_ghosts(config, ["r12-n01", "r12-n02"]) == "out of the record's pool: r12-n01, r12-n02"
    assert without_ghosts(config, ["r12-n01"]) == ""
