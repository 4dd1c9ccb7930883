"""Many names in little text: nothing is added, nothing is lost."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.report.node_ranges import node_ranges


def expanded(text: str) -> list[str]:
    match = re.fullmatch(r"(.*)\[([\d,-]+)\]", text)
    if not match:
        return [text]
    names = []
    for span in match[2].split(","):
        first, _, last = span.partition("-")
        names += [f"{match[1]}{i:0{len(first)}d}" for i in range(int(first), int(last or first) + 1)]
    return names


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ((), ()),
        (("r12-n01",), ("r12-n01",)),
        (("r12-n03", "r12-n01", "r12-n02", "r12-n07"), ("r12-n[01-03,07]",)),
        (("r12-n01", "r13-n01", "login"), ("login", "r12-n01", "r13-n01")),
        (("n9", "n10", "n11"), ("n9", "n[10-11]")),
        (("a.example.net", "b.example.net"), ("a.example.net", "b.example.net")),
    ],
)
def test_names_that_differ_in_their_last_number_are_one_text(names: tuple[str, ...], text: tuple[str, ...]) -> None:
    assert node_ranges(names) == text


@given(st.sets(st.from_regex(r"[a-z]{1,2}[0-9]{0,2}-?[a-z]?[0-9]{0,3}", fullmatch=True), max_size=40))
def test_the_ranges_mean_exactly_the_names(names: set[str]) -> None:
    assert sorted(n for text in node_ranges(names) for n in expanded(text)) == sorted(names)
