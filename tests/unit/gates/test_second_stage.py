"""Whom suspects meet: laws of the first stage's matchings and of the second stage."""

from __future__ import annotations

from collections import Counter
from math import ceil

from hypothesis import example, given, settings
from hypothesis import strategies as st

from clusterctl.core.gates.planning.schedule import matchings, number_of_rounds, tournament
from clusterctl.core.gates.planning.second_stage import SecondStage

SEEDS = st.text("abc123", max_size=4)


def leaf_of(size: int, per_leaf: int) -> dict[int, str]:
    return {i: f"leaf{i // per_leaf}" for i in range(size)}


@settings(deadline=None)
@given(st.integers(5, 90), st.integers(1, 20), st.integers(1, 4), SEEDS)
def test_rounds_are_disjoint_and_everybody_meets_as_many_as_there_are(count: int, per_leaf: int, rounds: int, seed: str) -> None:
    leaves = leaf_of(count, per_leaf)
    found = matchings(range(count), leaves.__getitem__, rounds, seed)
    assert len(found) == min(rounds, number_of_rounds(count, 0))
    for pairs in found:
        seen = [p for pair in pairs for p in pair]
        assert len(seen) == len(set(seen)) == count - count % 2
    meetings = Counter(p for pairs in found for pair in pairs for p in pair)
    assert max(meetings.values()) - min(meetings.values()) <= 1
    assert found == matchings(range(count), leaves.__getitem__, rounds, seed)


@settings(deadline=None)
@example(6, 6, 3, "1")
@example(10, 9, 3, "1")
@given(st.integers(2, 40), st.integers(1, 12), st.integers(1, 40), SEEDS)
def test_nobody_meets_the_same_node_twice(count: int, per_leaf: int, rounds: int, seed: str) -> None:
    pairs = [frozenset(pair) for own in matchings(range(count), leaf_of(count, per_leaf).__getitem__, rounds, seed) for pair in own]
    assert len(pairs) == len(set(pairs))


def test_a_small_rack_meets_three_different_ones_whatever_the_run() -> None:
    for number in range(200):
        pairs = [frozenset(pair) for own in matchings(range(6), lambda _: "", 3, f"run-{number}") for pair in own]
        assert len(set(pairs)) == 9


@settings(deadline=None)
@given(st.integers(4, 12), st.integers(3, 8), SEEDS)
def test_the_first_round_stays_inside_leaves_and_the_others_cross(leaves: int, half: int, seed: str) -> None:
    of = leaf_of(leaves * half * 2, half * 2)
    first, *others = matchings(range(len(of)), of.__getitem__, 3, seed)
    assert all(of[a] == of[b] for a, b in first)
    assert all(of[a] != of[b] for pairs in others for a, b in pairs)
    pairs = [frozenset(pair) for own in (first, *others) for pair in own]
    assert len(pairs) == len(set(pairs)), "nobody meets the same twice"


def test_another_run_meets_others() -> None:
    some = {frozenset(p) for p in matchings(range(64), leaf_of(64, 8).__getitem__, 3, "run-1")[1]}
    assert some != {frozenset(p) for p in matchings(range(64), leaf_of(64, 8).__getitem__, 3, "run-2")[1]}


@given(st.integers(0, 40), st.integers(0, 6))
def test_everybody_meets_everybody_where_that_takes_no_more_rounds(count: int, rounds: int) -> None:
    found = matchings(range(count), lambda _: "", rounds, "s")
    assert len(found) == number_of_rounds(count, rounds)
    if number_of_rounds(count, rounds) == number_of_rounds(count, 0):
        assert found == tournament(range(count))


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 16), st.integers(4, 32), st.data(), SEEDS)
def test_each_suspect_meets_two_proven_partners_in_at_most_three_rounds(leaves: int, per_leaf: int, data: st.DataObject, seed: str) -> None:
    of = {f"n{i}": leaf for i, leaf in leaf_of(leaves * per_leaf, per_leaf).items()}
    names = sorted(of)
    suspects = data.draw(st.sets(st.sampled_from(names), max_size=max(1, len(names) // 10)))
    check_retests(of, suspects, seed)


def test_a_leaf_with_few_suspects_is_not_crossed_in_one_round_only() -> None:
    of = {f"n{i}": leaf for i, leaf in leaf_of(81, 27).items()}
    check_retests(of, {"n0", "n1", "n10", "n11", "n12", "n13", "n14", "n27"}, "1")


def check_retests(of: dict[str, str], suspects: set[str], seed: str) -> None:
    """Two partners each, one suspect on a partner at a time, in three rounds at most, with the crossings of a leaf spread."""
    names = sorted(of)
    stage = SecondStage({n: {0, 1} for n in suspects}, {n: {0, 1} for n in names if n not in suspects}, of)
    rounds = stage.rounds(seed)
    assert len(rounds) <= 3
    met: dict[str, list[str]] = {}
    for own in rounds:
        busy = [n for r in own for n in (r.suspect, r.partner)]
        assert len(busy) == len(set(busy)), "one suspect on a partner at a time"
        for retest in own:
            assert retest.rails == (0, 1)
            met.setdefault(retest.suspect, []).append(retest.partner)
    assert set(met) == suspects
    assert all(len(set(partners)) == 2 and not set(partners) & suspects for partners in met.values())
    assert sum(len(own) for own in rounds) == 2 * len(suspects)
    crossing = [Counter(of[n] for r in own for n in (r.suspect, r.partner) if of[r.suspect] != of[r.partner]) for own in rounds]
    for leaf, total in sum(crossing, Counter()).items():
        assert max(own[leaf] for own in crossing) <= ceil(total / 2) + 1, "the crossings of a leaf are spread"


def test_a_suspect_is_measured_with_the_only_proven_partner_and_with_nobody_if_there_is_none() -> None:
    assert [r.partner for own in SecondStage({"a": {0}}, {"b": {0}}, {}).rounds("s") for r in own] == ["b"]
    assert SecondStage({"a": {0}, "b": {0}}, {"c": {1}}, {}).rounds("s") == ()
    apart = [r for own in SecondStage({"a": {0, 1}}, {"b": {0}, "c": {1}}, {}).rounds("s") for r in own]
    assert {(r.partner, r.rails) for r in apart} == {("b", (0,)), ("c", (1,))}
