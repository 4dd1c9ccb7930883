from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.adapters.ssh.fanout import each


@given(st.lists(st.integers(0, 3), max_size=30), st.integers(1, 8))
def test_all_are_done_in_order_and_never_too_many_at_once(items: list[int], concurrency: int) -> None:
    running = most = 0

    async def work(item: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(item):
            await asyncio.sleep(0)
        running -= 1
        return item * 2

    assert asyncio.run(each(items, work, concurrency)) == [i * 2 for i in items]
    assert most <= concurrency
    assert running == 0


def test_the_first_surprise_stops_all_and_comes_up_as_it_is() -> None:
    ended: list[int] = []

    async def work(item: int) -> None:
        if item == 3:
            raise LookupError("a surprise")
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(item)

    with pytest.raises(LookupError, match="a surprise"):
        asyncio.run(each([1, 2, 3, 4], work, 3))
    assert sorted(ended) == [1, 2]


def test_cancelled_from_outside() -> None:
    ended: list[int] = []

    async def work(item: int) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(item)

    async def go() -> None:
        async with asyncio.timeout(0.05):
            await each([1, 2], work, 8)

    with pytest.raises(TimeoutError):
        asyncio.run(go())
    assert sorted(ended) == [1, 2]
