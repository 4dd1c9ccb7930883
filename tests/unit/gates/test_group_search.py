"""The search for the nodes that make a group bad: its levels, its culprits, and when it blames nobody."""

from __future__ import annotations

from math import ceil, log2
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from clusterctl.core.gates.planning.group_search import Group, GroupSearch, GroupState, SearchEnd

if TYPE_CHECKING:
    from collections.abc import Callable

OK, BAD, UNKNOWN = GroupState.OK, GroupState.BAD, GroupState.UNKNOWN


def names(count: int) -> Group:
    return tuple(f"n{i:04}" for i in range(1, count + 1))


def searched(whole: Group, measure: Callable[[Group], GroupState], per_leaf: int = 16) -> tuple[GroupSearch, int]:
    """The search at its end, and how many levels it took."""
    leaves = {name: f"leaf{i // per_leaf}" for i, name in enumerate(whole)}
    runs: list[tuple[Group, GroupState]] = []
    for level in range(200):
        search = GroupSearch(whole, leaves, tuple(runs))
        groups = search.next_level()
        taken = [name for group in groups for name in group]
        assert len(taken) == len(set(taken)), "a node is in two groups of a level"
        assert all(len(group) > 1 for group in groups)
        if not groups:
            return search, level
        runs += [(group, measure(group)) for group in groups]
    raise AssertionError("the search has no end")


@given(st.integers(4, 200), st.integers(1, 40), st.data())
def test_one_culprit_is_found_in_few_levels(count: int, per_leaf: int, data: st.DataObject) -> None:
    whole = names(count)
    bad = data.draw(st.sampled_from(whole))
    search, levels = searched(whole, lambda group: BAD if bad in group else OK, per_leaf)
    assert (search.end(), search.culprits()) == (SearchEnd.CULPRITS, (bad,))
    assert levels <= ceil(log2(count)) + 2


@given(st.integers(4, 120), st.integers(1, 20), st.data())
def test_only_those_at_fault_are_named(count: int, per_leaf: int, data: st.DataObject) -> None:
    whole = names(count)
    bad = data.draw(st.sets(st.sampled_from(whole), min_size=1, max_size=count))
    search, _ = searched(whole, lambda group: BAD if bad & set(group) else OK, per_leaf)
    assert set(search.culprits()) <= bad
    proven = any(state is OK for _, state in search.runs)
    assert set(search.culprits()) == (bad if proven else set())
    assert search.end() is (SearchEnd.CULPRITS if proven else SearchEnd.UNKNOWN)


@given(st.integers(2, 100))
def test_a_group_that_is_fine_when_it_is_measured_again(count: int) -> None:
    search, levels = searched(names(count), lambda _: OK)
    assert (search.end(), search.culprits(), levels) == (SearchEnd.COLLISION, (), 1)


@given(st.integers(4, 100))
def test_bad_at_full_size_only_blames_nobody(count: int) -> None:
    whole = names(count)
    search, levels = searched(whole, lambda group: BAD if len(group) == count else OK)
    assert (search.end(), search.culprits(), levels) == (SearchEnd.ONLY_TOGETHER, (), 3)


@given(st.integers(8, 100))
def test_bad_between_the_halves_blames_nobody(count: int) -> None:
    whole = names(count)
    first = set(GroupSearch(whole, {})._halves(whole)[0])
    search, _ = searched(whole, lambda group: BAD if set(group) & first and set(group) - first else OK, per_leaf=1000)
    assert (search.end(), search.culprits()) == (SearchEnd.ONLY_TOGETHER, ())


@given(st.integers(2, 60), st.integers(0, 2**32))
def test_it_ends_whatever_is_measured(count: int, seed: int) -> None:
    states = [OK, BAD, UNKNOWN]
    search, _ = searched(names(count), lambda group: states[hash((seed, group)) % 3])
    assert search.end() is not SearchEnd.OPEN


def test_a_pair_without_anybody_else_blames_nobody() -> None:
    search, levels = searched(names(2), lambda _: BAD)
    assert (search.end(), search.culprits(), levels) == (SearchEnd.UNKNOWN, (), 1)


def test_without_a_floor_for_halves_it_ends() -> None:
    search, levels = searched(names(16), lambda group: BAD if len(group) == 16 else UNKNOWN)
    assert (search.end(), search.culprits(), levels) == (SearchEnd.UNKNOWN, (), 2)


def test_halves_are_cut_between_leaves() -> None:
    search = GroupSearch(names(10), {name: "a" if i < 4 else "b" for i, name in enumerate(names(10))}, ((names(10), BAD),))
    assert [len(group) for group in search.next_level()] == [4, 6]
