"""Bounded concurrency: many tasks, a limited number at a time; the first exception stops all."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

T = TypeVar("T")
R = TypeVar("R")


async def fan_out(items: Sequence[T], work: Callable[[T], Awaitable[R]], concurrency: int) -> list[R]:
    """Run `work` for every item, at most `concurrency` at the same time; the results have the order of the items.

    On an exception or a cancellation all other tasks are cancelled and awaited; then the exception is raised unchanged.
    """
    results: dict[int, R] = {}
    waiting = iter(enumerate(items))

    async def worker() -> None:
        for index, item in waiting:
            results[index] = await work(item)

    workers = [asyncio.create_task(worker()) for _ in range(min(concurrency, len(items)))]
    try:
        await asyncio.gather(*workers)
    finally:
        for task in workers:
            task.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
    return [results[i] for i in range(len(items))]
