"""Nodes at the vendor's or gone for good: left out by name, and an error where nobody else is meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl.core.lifecycle import ABSENT, LEGAL
from clusterctl.model.errors import NodesAbsentError
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.state import State
from clusterctl.workflows.target_filter import without_absent_nodes
from support.stores import a_node, bring, fresh

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.adapters.store import Store

NODES = [a_node(f"r12-n0{i}", slot=i) for i in range(1, 4)]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = fresh(tmp_path)
    store.register(NODES)
    return store


def test_who_is_there_is_asked_and_nothing_is_said(store: Store) -> None:
    told: list[str] = []
    assert without_absent_nodes(store, NODES, told.append) == tuple(NODES)
    assert told == []


@pytest.mark.parametrize("state", sorted(LEGAL[State.REGISTERED] - ABSENT))
def test_every_other_state_is_there(store: Store, state: State) -> None:
    bring(store, "r12-n02", state)
    assert without_absent_nodes(store, NODES, print) == tuple(NODES)


def test_who_is_away_is_left_out_by_name(store: Store) -> None:
    bring(store, "r12-n01", State.RMA)
    bring(store, "r12-n03", State.RETIRED)
    told: list[str] = []
    assert [n.name for n in without_absent_nodes(store, NODES, told.append)] == ["r12-n02"]
    assert told == ["left out, because they are in RMA or retired: r12-n01 (rma), r12-n03 (retired)"]


def test_nobody_there_is_an_error_with_the_way_back(store: Store) -> None:
    bring(store, "r12-n01", State.RMA)
    with pytest.raises(NodesAbsentError, match=r"r12-n01 \(rma\)") as caught:
        without_absent_nodes(store, NODES[:1], print)
    assert caught.value.exit_code is ExitCode.USAGE
    assert "`clusterctl release r12-n01`" in caught.value.hint


def test_a_node_nobody_has_met_is_there(tmp_path: Path) -> None:
    assert without_absent_nodes(fresh(tmp_path), NODES, print) == tuple(NODES)
