"""One class or two: the noise of one is not refused, what lies apart is, with its nodes."""

from __future__ import annotations

from itertools import count
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.core.gates.two_clusters import two_clusters

if TYPE_CHECKING:
    from collections.abc import Callable

# Shapes of the noise of one class, each with a standard deviation of 1.
SHAPES: dict[str, Callable[[Random], float]] = {"normal": lambda r: r.gauss(0, 1), "uniform": lambda r: r.uniform(-(3**0.5), 3**0.5)}
# At most 0.2 % of classes that are one are refused: of 10,000 about 20, so 35 are more than chance.
TRIALS, REFUSED = 10_000, 35


def named(values: list[float]) -> dict[str, float]:
    return dict(zip((f"n{i}" for i in count()), values, strict=False))


def refused(shape: str, spread: float, nodes: int, trials: int) -> int:
    random = Random(f"{shape} {spread} {nodes}")  # noqa: S311 no secret
    draw = SHAPES[shape]
    return sum(two_clusters(named([392 * (1 + spread * draw(random)) for _ in range(nodes)])) is not None for _ in range(trials))


@pytest.mark.parametrize("spread", [0.003, 0.03, 0.09])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_noise_of_one_class_is_not_refused(shape: str, spread: float) -> None:
    assert refused(shape, spread, 20, TRIALS) <= REFUSED


@pytest.mark.parametrize("nodes", [40, 100, 400])
def test_nor_that_of_a_large_one(nodes: int) -> None:
    trials = TRIALS // 10
    assert refused("uniform", 0.09, nodes, trials) + refused("normal", 0.09, nodes, trials) <= 2 * REFUSED // 10


@pytest.mark.parametrize(("nodes", "low", "spread"), [(20, 2, 0.005), (20, 10, 0.005), (28, 3, 0.003), (100, 50, 0.01), (400, 40, 0.01)])
def test_what_lies_7_percent_apart_is_two_in_19_of_20_trials(nodes: int, low: int, spread: float) -> None:
    random = Random(f"{nodes} {low}")  # noqa: S311 no secret

    def one_class(centre: float, size: int) -> list[float]:
        return [centre * (1 + spread * random.gauss(0, 1)) for _ in range(size)]

    found = 0
    for _ in range(100):
        clusters = two_clusters(named([*one_class(0.93 * 392, low), *one_class(392, nodes - low)]))
        wrong = set(clusters[0].nodes) ^ {f"n{i}" for i in range(low)} if clusters else set(range(nodes))
        found += len(wrong) <= nodes // 100
    assert found >= 95


@given(st.lists(st.floats(1, 1000), max_size=40), st.floats(0.01, 100))
def test_both_clusters_are_all_nodes_the_lower_first_whatever_the_unit(values: list[float], factor: float) -> None:
    clusters = two_clusters(named(values))
    scaled = two_clusters(named([value * factor for value in values]))
    if clusters is None:
        return
    lower, upper = clusters
    assert set(lower.nodes) | set(upper.nodes) == set(named(values))
    assert not set(lower.nodes) & set(upper.nodes)
    assert lower.centre < 0.965 * upper.centre
    if scaled:
        assert scaled[0].nodes == lower.nodes


def test_fewer_than_four_are_never_two() -> None:
    assert two_clusters({"n1": 100.0, "n2": 400.0, "n3": 400.0}) is None
    assert two_clusters({}) is None
