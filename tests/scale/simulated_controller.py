"""A controller that queues racks of simulated nodes, one order after the other, until it is killed or has queued all."""

from __future__ import annotations

import asyncio
import sys

from clusterctl.adapters.job_queue import JobQueue
from clusterctl.adapters.store import Store
from clusterctl.model.shard import Shard
from scale.simulated_worker import CONTENT, SITE


def shard(number: int, nodes: int) -> Shard:
    """The rack of a number."""
    names = tuple(f"r{number:04d}-n{n}" for n in range(1, nodes + 1))
    return Shard(f"order-{number:04d}", SITE, f"r{number:04d}", names, CONTENT, "ada", {})


async def queue(url: str, first: int, count: int, nodes: int) -> None:
    """Queue the racks that are not recorded yet; each is an order."""
    with Store.open(url) as store:
        known = {s.rack for s in store.shards()}
        async with JobQueue.open(url) as jobs:
            for number in range(first, first + count):
                if f"r{number:04d}" not in known:
                    await jobs.add(store.queue_shards([shard(number, nodes)]))


if __name__ == "__main__":
    asyncio.run(queue(sys.argv[1], *map(int, sys.argv[2:])))
