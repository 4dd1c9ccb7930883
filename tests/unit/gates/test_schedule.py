from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.core.gates.planning.coverage import coverage
from clusterctl.core.gates.planning.schedule import matchings, tournament
from support.gates import CASES, gates, nodes, plan
from support.plain_yaml import load_yaml

EXPECTED = load_yaml((CASES / "schedule" / "tournaments.yml").read_text())


@pytest.mark.parametrize("case", EXPECTED, ids=lambda c: f"n={c['nodes']}")
def test_every_node_meets_every_other_once(case: dict[str, int]) -> None:
    rounds = tournament(range(case["nodes"]))
    pairs = [frozenset(p) for r in rounds for p in r]
    assert len(rounds) == case["rounds"]
    assert len(pairs) == len(set(pairs)) == case["pairs"]


@given(st.integers(0, 80))
def test_rounds_are_disjoint_and_complete(count: int) -> None:
    rounds = tournament(range(count))
    for pairs in rounds:
        seen = [p for pair in pairs for p in pair]
        assert len(seen) == len(set(seen))
        assert len(pairs) == count // 2
    assert {frozenset(p) for r in rounds for p in r} == {frozenset(c) for c in combinations(range(count), 2)}


@given(st.integers(2, 40))
def test_the_schedule_is_the_same_every_time_and_uses_both_directions(count: int) -> None:
    assert tournament(range(count)) == tournament(range(count))
    if count > 2:
        servers = {s for r in tournament(range(count)) for s, _ in r}
        clients = {c for r in tournament(range(count)) for _, c in r}
        assert servers == clients == set(range(count))


@pytest.mark.parametrize("case", EXPECTED, ids=lambda c: f"n={c['nodes']}")
def test_every_node_and_hca_is_covered_or_named(case: dict[str, int]) -> None:
    some = nodes(case["nodes"], declared=gates(gates_settings={"rdma_pair": {"rounds": 0}}))
    found = coverage(some, plan(some, ["rdma_pair"]))
    assert found.pairs == found.possible_pairs == case["pairs"]
    assert found.known_devices == 2 * case["nodes"]
    assert len(found.uncovered) == found.known_devices - found.devices
    assert found.uncovered == (() if case["nodes"] > 1 else ("n1/mlx5_0", "n1/mlx5_1"))


def test_an_hca_whose_rail_nobody_else_has_is_named() -> None:
    some = (*nodes(2, rails=2), nodes(3, rails=3)[2])
    found = coverage(some, plan(some, ["rdma_pair"]))
    assert found.uncovered == ("n3/mlx5_2",)


@given(st.integers(6, 12), st.integers(6, 20), st.text("abc", min_size=1, max_size=3))
def test_one_round_across_follows_paths_and_the_next_mixes_all_leaves(leaves: int, per_leaf: int, seed: str) -> None:
    rounds = matchings(range(leaves * per_leaf), lambda player: str(player // per_leaf), 3, seed)
    first, straight, mixed = ({frozenset(pair) for pair in pairs} for pairs in rounds)
    assert len(first | straight | mixed) == len(first) + len(straight) + len(mixed)
    assert all(len(set().union(*pairs)) == 2 * len(pairs) for pairs in (first, straight, mixed)), "nobody is in two pairs"
    paths = [{frozenset(player // per_leaf for player in pair) for pair in pairs} for pairs in (straight, mixed)]
    assert all(len(path) > 1 for path in paths[0] | paths[1])
    assert len(paths[1]) > len(paths[0])
