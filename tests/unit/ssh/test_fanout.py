from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.adapters.ssh.fanout import fan_out


@given(st.lists(st.integers(0, 3), max_size=30), st.integers(1, 8))
def test_results_keep_their_order_and_concurrency_is_bounded(items: list[int], concurrency: int) -> None:
    running = most = 0

    async def work(item: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(item):
            await asyncio.sleep(0)
        running -= 1
        return item * 2

    assert asyncio.run(fan_out(items, work, concurrency)) == [i * 2 for i in items]
    assert most <= concurrency
    assert running == 0


def test_the_first_exception_stops_all_and_is_raised_unchanged() -> None:
    ended: list[int] = []

    async def work(item: int) -> None:
        if item == 3:
            raise LookupError("an error")
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(item)

    with pytest.raises(LookupError, match="an error"):
        asyncio.run(fan_out([1, 2, 3, 4], work, 3))
    assert sorted(ended) == [1, 2]


def test_a_cancellation_cancels_all_tasks() -> None:
    ended: list[int] = []

    async def work(item: int) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(item)

    async def run_with_timeout() -> None:
        async with asyncio.timeout(0.05):
            await fan_out([1, 2], work, 8)

    with pytest.raises(TimeoutError):
        asyncio.run(run_with_timeout())
    assert sorted(ended) == [1, 2]
