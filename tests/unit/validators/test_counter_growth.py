from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl_validators.counter_growth import UnreadableSnapshotError, growth, over, parse_snapshot

COUNT = st.integers(0, 2**64)


@given(then=COUNT, by=COUNT)
def test_a_counter_that_went_up_grew_by_the_difference(then: int, by: int) -> None:
    assert growth(then + by, then) == by


@given(then=COUNT, now=COUNT)
def test_growth_is_never_negative_and_never_more_than_what_is_counted(then: int, now: int) -> None:
    assert 0 <= growth(now, then) <= now


@given(st.dictionaries(st.sampled_from("abc"), COUNT), st.dictionaries(st.sampled_from("abc"), COUNT))
def test_only_counters_with_a_limit_are_checked(now: dict[str, int], then: dict[str, int]) -> None:
    assert set(over({"a": 0}, now, then)) <= {"a"}
    assert over({}, now, then) == {}


def test_growth_up_to_the_limit_is_allowed() -> None:
    assert over({"x": 100, "y": 0}, {"x": 150, "y": 1}, {"x": 50}) == {"y": 1}
    assert over({"x": 99}, {"x": 150}, {"x": 50}) == {"x": 100}


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"taken_at": "t", "boot_id": "b", "ports": {"mlx5_0/1": {"symbol_error": "many"}}}'])
def test_another_format_is_refused(text: str) -> None:
    with pytest.raises(UnreadableSnapshotError):
        parse_snapshot(text)
