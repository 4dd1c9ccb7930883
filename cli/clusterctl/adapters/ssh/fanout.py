"""Many nodes, a bounded number at a time; the first surprise stops all."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

T = TypeVar("T")
R = TypeVar("R")


async def each(items: Sequence[T], work: Callable[[T], Awaitable[R]], concurrency: int) -> list[R]:
    """`work` for every item, at most `concurrency` at once; results in the order of the items.

    An exception in one, or being cancelled, cancels all others, waits for them to end, and goes on up as it is.
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
