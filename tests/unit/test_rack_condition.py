"""Whether a rack serves, from the states of its nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.core.rack_condition import condition, racks_of
from clusterctl.model.rack_condition import RackCondition, RackStatus
from clusterctl.model.state import State
from support.stores import a_node, bring, fresh

if TYPE_CHECKING:
    from pathlib import Path

ADMITTED, QUARANTINED, MAINTENANCE, RMA = State.ADMITTED, State.QUARANTINED, State.MAINTENANCE, State.RMA


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({ADMITTED: 18}, RackCondition.IN_SERVICE),
        ({ADMITTED: 17, QUARANTINED: 1}, RackCondition.DEGRADED),
        ({ADMITTED: 17, MAINTENANCE: 1}, RackCondition.DEGRADED),
        ({ADMITTED: 17, RMA: 1}, RackCondition.DEGRADED),
        ({MAINTENANCE: 17, RMA: 1}, RackCondition.MAINTENANCE),
        ({MAINTENANCE: 1, QUARANTINED: 17}, RackCondition.MAINTENANCE),
        ({QUARANTINED: 18}, RackCondition.OUT_OF_SERVICE),
        ({State.REGISTERED: 18}, RackCondition.OUT_OF_SERVICE),
        ({}, RackCondition.OUT_OF_SERVICE),
    ],
)
def test_conditions(counts: dict[State, int], expected: RackCondition) -> None:
    assert condition(counts) is expected


@given(st.dictionaries(st.sampled_from(State), st.integers(1, 3)))
def test_a_rack_serves_whole_only_if_every_node_is_admitted(counts: dict[State, int]) -> None:
    assert (condition(counts) is RackCondition.IN_SERVICE) is (set(counts) == {ADMITTED})
    assert (condition(counts) in {RackCondition.IN_SERVICE, RackCondition.DEGRADED}) is (ADMITTED in counts)


def test_racks_are_judged_by_all_of_their_nodes_but_the_retired(tmp_path: Path) -> None:
    store = fresh(tmp_path)
    store.register([a_node("n1"), a_node("n2"), a_node("n3", rack="rack_13"), a_node("n4", rack="")])
    bring(store, "n1", State.RETIRED)
    bring(store, "n2", State.MAINTENANCE)
    assert racks_of(store.nodes(), {"rack_12", ""}) == (RackStatus("rack_12", RackCondition.MAINTENANCE, 0, 1),)
