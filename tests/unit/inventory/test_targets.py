"""Patterns against Ansible's own inventory, in this process."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterctl.adapters.inventory.ansible_worker.failures import WorkerError
from clusterctl.adapters.inventory.ansible_worker.targets import select
from clusterctl.adapters.inventory.wire import Failure
from clusterctl.core.near_match import near_matches
from support.site import CASES

MEMBERS = {
    "rack_1": {"r1-n01", "r1-n02", "r1-n03"},
    "rack_2": {"r2-n01"},
    "rack_3": set(),
    "profile_x": {"r1-n01", "r1-n02", "r1-n03", "r2-n01"},
    "profile_y": {"r2-n01"},
    "all": {"r1-n01", "r1-n02", "r1-n03", "r2-n01"},
    **{n: {n} for n in ("r1-n01", "r1-n02", "r1-n03", "r2-n01")},
}
SAID = [*MEMBERS, *(n.replace("_", "-") for n in MEMBERS)]


@cache
def inventory() -> Any:
    return InventoryManager(loader=DataLoader(), sources=[str(CASES / "base" / layer) for layer in ("common", "site")])


def members(said: str) -> set[str]:
    return MEMBERS.get(said) or MEMBERS.get(said.replace("-", "_"), set())


def model(plain: list[str], both: list[str], without: list[str]) -> set[str]:
    found = set().union(*map(members, plain))
    for name in both:
        found &= members(name)
    return found.difference(*map(members, without))


@settings(deadline=None)
@given(
    plain=st.lists(st.sampled_from(SAID), min_size=1, max_size=3),
    both=st.lists(st.sampled_from(SAID), max_size=2),
    without=st.lists(st.sampled_from(SAID), max_size=2),
    separator=st.sampled_from([":", ","]),
)
def test_a_pattern_is_set_algebra_and_never_empty(plain: list[str], both: list[str], without: list[str], separator: str) -> None:
    pattern = separator.join([*plain, *(f"&{b}" for b in both), *(f"!{w}" for w in without)])
    expected = model(plain, both, without)
    if not expected:
        with pytest.raises(WorkerError) as caught:
            select(inventory(), pattern, None)
        assert caught.value.failure is Failure.UNKNOWN_TARGET
        return
    found = [str(h.name) for h in select(inventory(), pattern, None)]
    assert set(found) == expected
    assert len(found) == len(expected)


@settings(deadline=None)
@given(target=st.sampled_from(SAID), limit=st.sampled_from(SAID))
def test_a_limit_only_takes_away(target: str, limit: str) -> None:
    expected = members(target) & members(limit)
    if not expected:
        with pytest.raises(WorkerError):
            select(inventory(), target, limit)
    else:
        assert {str(h.name) for h in select(inventory(), target, limit)} == expected


@settings(deadline=None)
@given(st.text(max_size=12))
def test_no_text_is_a_crash_or_an_empty_success(pattern: str) -> None:
    try:
        hosts = select(inventory(), pattern, None)
    except WorkerError as e:
        assert e.failure in (Failure.UNKNOWN_TARGET, Failure.CONFIG)  # noqa: PT017 either outcome is fine, nothing else
    else:
        assert hosts


@settings(deadline=None)
@given(st.sampled_from(sorted(MEMBERS)), st.data())
def test_one_wrong_letter_finds_the_name(name: str, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(name) - 1))
    typo = name[:index] + "q" + name[index + 1 :]
    if len(name) > 3:
        assert name in near_matches(typo, MEMBERS, limit=len(MEMBERS))


@pytest.mark.parametrize("pattern", ["~[", "~(r1", "rack_2,~*", "rack_2:&~["])
def test_a_broken_regular_expression_selects_nothing(pattern: str) -> None:
    with pytest.raises(WorkerError) as caught:
        select(inventory(), "all", pattern)
    assert caught.value.failure is Failure.UNKNOWN_TARGET
    assert "not a regular expression" in str(caught.value.values)


def test_a_regular_expression_selects_what_it_matches() -> None:
    assert {h.name for h in select(inventory(), "all", "~r1-n0[12]")} == {"r1-n01", "r1-n02"}


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("r1-n[01-03]", {"r1-n01", "r1-n02", "r1-n03"}),
        ("r1-n[01-02,03]:!r1-n02", {"r1-n01", "r1-n03"}),
        ("r1-n[01,03],r2-n01", {"r1-n01", "r1-n03", "r2-n01"}),
        ("rack-1:!r1-n[01-02]", {"r1-n03"}),
        ("all:&r1-n[02-03]", {"r1-n02", "r1-n03"}),
        ("rack_1[0:1]", {"r1-n01", "r1-n02"}),
    ],
)
def test_a_range_selects_each_of_its_nodes(pattern: str, expected: set[str]) -> None:
    assert {h.name for h in select(inventory(), pattern, None)} == expected
    assert {h.name for h in select(inventory(), "all", pattern)} == expected


@pytest.mark.parametrize(
    ("pattern", "said"),
    [("r1-n[01-18]", "'r1-n04' is unknown"), ("rack_1:!r1-n[03-04]", "'r1-n04' is unknown"), ("r1-n[18-01]", "backwards")],
)
def test_a_range_never_selects_part_of_itself(pattern: str, said: str) -> None:
    with pytest.raises(WorkerError) as caught:
        select(inventory(), pattern, None)
    assert said in str(caught.value.values)
