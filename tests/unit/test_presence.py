"""RMA and retired nodes: they are left out with a message; it is an error if no other node is selected."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl.core.lifecycle import ABSENT, LEGAL, MAY_BE_SILENT
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


def test_present_nodes_are_kept_without_message(store: Store) -> None:
    messages: list[str] = []
    assert without_absent_nodes(store, NODES, messages.append) == tuple(NODES)
    assert messages == []


@pytest.mark.parametrize("state", sorted(LEGAL[State.REGISTERED] - ABSENT))
def test_nodes_in_all_other_states_are_kept(store: Store, state: State) -> None:
    bring(store, "r12-n02", state)
    assert without_absent_nodes(store, NODES, print) == tuple(NODES)


def test_absent_nodes_are_left_out_and_named(store: Store) -> None:
    bring(store, "r12-n01", State.RMA)
    bring(store, "r12-n03", State.RETIRED)
    messages: list[str] = []
    assert [n.name for n in without_absent_nodes(store, NODES, messages.append)] == ["r12-n02"]
    assert messages == ["left out, because they are away: r12-n01 (rma), r12-n03 (retired)"]


def test_without_present_nodes_it_is_an_error_with_a_hint(store: Store) -> None:
    bring(store, "r12-n01", State.RMA)
    with pytest.raises(NodesAbsentError, match=r"r12-n01 \(rma\)") as caught:
        without_absent_nodes(store, NODES[:1], print)
    assert caught.value.exit_code is ExitCode.USAGE
    assert "`clusterctl release r12-n01`" in caught.value.hint


def test_unregistered_nodes_are_kept(tmp_path: Path) -> None:
    assert without_absent_nodes(fresh(tmp_path), NODES, print) == tuple(NODES)


def test_where_nobody_answers_for_them_nodes_in_maintenance_are_left_out_too(store: Store) -> None:
    bring(store, "r12-n02", State.MAINTENANCE)
    messages: list[str] = []
    kept = without_absent_nodes(store, NODES, messages.append, away=MAY_BE_SILENT)
    assert [n.name for n in kept] == ["r12-n01", "r12-n03"]
    assert messages == ["left out, because they are away: r12-n02 (maintenance)"]
