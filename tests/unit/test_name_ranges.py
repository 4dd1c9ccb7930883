"""Ranges of names: what the report, `topology` and Slurm print can be given back as a target."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.core.name_ranges import expand, split_words
from clusterctl.model.errors import NameRangeError
from clusterctl.report.node_ranges import node_ranges


@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("r12-n[01-03]", ["r12-n01", "r12-n02", "r12-n03"]),
        ("r12-n[08-11,20]", ["r12-n08", "r12-n09", "r12-n10", "r12-n11", "r12-n20"]),
        ("node[1-18]", [f"node{i}" for i in range(1, 19)]),
        ("r[1-2]-n[1,3]", ["r1-n1", "r1-n3", "r2-n1", "r2-n3"]),
        ("!r12-n[01-02]", ["!r12-n01", "!r12-n02"]),
        ("r12-n01", ["r12-n01"]),
        # Positions, classes of characters and regular expressions are not ranges.
        ("rack_12[0:7]", ["rack_12[0:7]"]),
        ("rack_12[0]", ["rack_12[0]"]),
        ("r12-n0[!1-3]", ["r12-n0[!1-3]"]),
        ("~r12-n0[1-4]", ["~r12-n0[1-4]"]),
        ("&~r12-n0[1-4]", ["&~r12-n0[1-4]"]),
    ],
)
def test_a_range_is_the_names_that_it_stands_for(word: str, names: list[str]) -> None:
    assert list(expand(word)) == names


@pytest.mark.parametrize(
    ("word", "reason"), [("n[18-01]", "backwards"), ("n[1-999999999999]", "more than"), ("n[0-999][0-999]", "more than")]
)
def test_a_range_that_cannot_be_meant_is_an_error(word: str, reason: str) -> None:
    with pytest.raises(NameRangeError, match=reason) as caught:
        expand(word)
    assert int(caught.value.exit_code) == 3


@given(st.sets(st.tuples(st.sampled_from(["r1-n", "r2-n", "gpu"]), st.integers(0, 120)), min_size=1), st.sampled_from([1, 2, 3]))
def test_what_the_report_prints_can_be_given_back(numbers: set[tuple[str, int]], width: int) -> None:
    names = {f"{prefix}{number:0{width}}" for prefix, number in numbers}
    printed = ",".join(node_ranges(names))
    assert {name for word in split_words(printed) for name in expand(word)} == names
