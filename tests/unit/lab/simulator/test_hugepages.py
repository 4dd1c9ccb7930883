from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl_lab.simulator.hugepages import HugePages, pages_from_cmdline

GIB = 1048576


def test_a_new_machine_has_no_huge_pages() -> None:
    pages = HugePages(2, 10 * GIB)
    assert pages.total(2048) == pages.total(GIB) == 0


@pytest.mark.parametrize(
    ("cmdline", "expected"),
    [
        ("ro quiet", {(0, 2048): 0, (1, 2048): 0}),
        ("hugepages=5", {(0, 2048): 3, (1, 2048): 2}),
        ("hugepagesz=1G hugepages=4", {(0, GIB): 2, (1, GIB): 2}),
        ("hugepagesz=1G hugepages=0:1,1:3", {(0, GIB): 1, (1, GIB): 3}),
        ("hugepagesz=1G hugepages=2 hugepagesz=2M hugepages=64", {(0, GIB): 1, (1, GIB): 1, (0, 2048): 32}),
        ("hugepages=many hugepagesz=3G", {(0, 2048): 0}),
    ],
)
def test_the_command_line_allocates_pages(cmdline: str, expected: dict[tuple[int, int], int]) -> None:
    pages = pages_from_cmdline(cmdline, 2, 100 * GIB)
    assert {key: pages.pages[key] for key in expected} == expected


def test_the_command_line_sets_the_default_size() -> None:
    pages = pages_from_cmdline("default_hugepagesz=1G hugepages=2", 2, 100 * GIB)
    assert (pages.default_kib, pages.total(GIB)) == (GIB, 2)


def test_a_kernel_with_64k_pages_has_other_sizes() -> None:
    pages = pages_from_cmdline("hugepages=3 hugepagesz=1G hugepages=9 hugepagesz=16G hugepages=2", 2, 500 * GIB, "6.8.0-1021-nvidia-64k")
    assert pages.default_kib == 524288
    assert {size: pages.total(size) for size in pages.sizes_kib} == {524288: 3, 2048: 0, 16 * GIB: 2}


def test_allocation_is_limited_by_memory() -> None:
    pages = HugePages(2, 4 * GIB)
    assert pages.set_node(0, GIB, 3) == 3
    assert pages.set_node(0, 2048, 100000) == 512
    assert pages.set_node(0, GIB, 9) == 3
    assert pages.set_node(0, GIB, 0) == 0


@given(st.lists(st.tuples(st.integers(0, 1), st.sampled_from([2048, GIB]), st.integers(-5, 10**7)), max_size=20))
def test_no_numa_node_allocates_more_than_its_memory(steps: list[tuple[int, int, int]]) -> None:
    pages = HugePages(2, 50 * GIB)
    for node, size, wanted in steps:
        given_now = pages.set_node(node, size, wanted)
        assert 0 <= given_now <= max(0, wanted)
        assert sum(n * s for (at, s), n in pages.pages.items() if at == node) <= 50 * GIB


@given(st.integers(0, 10**6))
def test_a_total_is_spread_evenly(wanted: int) -> None:
    pages = HugePages(2, 10**6 * GIB)
    assert pages.set_total(2048, wanted) == wanted
    assert abs(pages.pages[0, 2048] - pages.pages[1, 2048]) <= 1
