"""Baselines hold for one number of nodes, for a range, or for any number."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.core.gates.gates_profile import profile_of
from clusterctl.core.gates.judging.limits import applicable
from clusterctl.model.errors import ConfigError
from clusterctl.model.gate_result import Baseline, BaselineKind
from support.gates import GROUP_FLOOR, NODE_FLOOR, RDMA_FLOOR, TODAY, gates, node

if TYPE_CHECKING:
    from collections.abc import Sequence

ANY = Baseline("nccl_group", "busbw", BaselineKind.FLOOR, 300.0, "GB/s", "tests", "2026-01", op="all_reduce")
COUNTS = st.integers(2, 4096)


def values(baselines: Sequence[Baseline], nodes: int) -> list[float]:
    return [b.value for b in applicable(baselines, nodes)]


@given(COUNTS, COUNTS, COUNTS)
def test_a_range_holds_from_its_first_to_its_last_number(first: int, last: int, nodes: int) -> None:
    of_range = replace(ANY, nodes_min=first, nodes_max=last)
    assert of_range.holds_for(nodes) is (first <= nodes <= last)
    assert replace(ANY, nodes_min=first).holds_for(nodes) is (nodes >= first)
    assert replace(ANY, nodes_max=last).holds_for(nodes) is (nodes <= last)
    assert ANY.holds_for(nodes)


@given(COUNTS, COUNTS)
def test_two_ranges_that_meet_leave_no_number_without_a_floor(border: int, nodes: int) -> None:
    both = [replace(ANY, nodes_max=border, value=440.0), replace(ANY, nodes_min=border + 1)]
    assert values(both, nodes) == [440.0 if nodes <= border else 300.0]


@given(COUNTS)
def test_a_floor_of_the_site_for_any_number_applies_beside_a_range(nodes: int) -> None:
    assert sorted(values([replace(ANY, nodes_min=2, nodes_max=4096, value=440.0), replace(ANY, value=450.0)], nodes)) == [440.0, 450.0]


def test_exactly_the_measured_number_takes_precedence() -> None:
    chosen = [ANY, replace(ANY, nodes_min=2, value=310.0), replace(ANY, nodes=8, value=386.0)]
    assert values(chosen, 8) == [386.0]
    assert values(chosen, 7) == [300.0, 310.0]


@pytest.mark.parametrize(
    ("scope", "told"),
    [
        ({"nodes": 2, "nodes_min": 2}, ".nodes: stands beside nodes_min or nodes_max"),
        ({"nodes_min": 9, "nodes_max": 8}, ".nodes_min: 9 is above nodes_max, 8"),
        ({"nodes_min": 0}, "gates_baselines[2].nodes_min"),
    ],
)
def test_a_range_that_contradicts_itself_is_refused(scope: dict[str, Any], told: str) -> None:
    declared = gates(gates_baselines=[RDMA_FLOOR, NODE_FLOOR, {**GROUP_FLOOR, **scope}])
    with pytest.raises(ConfigError) as refused:
        profile_of(node("n1", declared=declared), TODAY)
    assert told in str(refused.value)


@pytest.mark.parametrize(("nodes_min", "refused"), [(2, False), (8, True)])
def test_the_line_rate_of_a_range_is_that_of_its_fewest_nodes(nodes_min: int, refused: bool) -> None:
    declared = gates(gates_baselines=[RDMA_FLOOR, NODE_FLOOR, {**GROUP_FLOOR, "value": 487.9, "nodes_min": nodes_min}])
    profile = node("n1", rails=8, declared=declared)
    if not refused:
        assert profile_of(profile, TODAY)
        return
    with pytest.raises(ConfigError, match="above the line rate"):
        profile_of(profile, TODAY)
