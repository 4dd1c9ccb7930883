"""`provision --queue`: the shards of a target, and a job for each of them."""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING

from clusterctl.adapters.content_digest import content_digest
from clusterctl.adapters.inventory.load import list_hosts
from clusterctl.adapters.job_queue import JobQueue
from clusterctl.adapters.store import Store
from clusterctl.core.shards import split
from clusterctl.model.shard import Shard, ShardState

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clusterctl.adapters.config import Config
    from clusterctl.workflows.provision.request import ProvisionRequest


def queue_provision(config: Config, request: ProvisionRequest, confirm: Callable[[Sequence[Shard]], bool]) -> tuple[Shard, ...]:
    """Queue the racks of a target; empty if `confirm` declines them. No node is contacted.

    A shard is recorded before its job: if this process dies in between, a worker queues the job.

    Raises:
        UsageProblemError: the site's record is not in PostgreSQL.
        QueueError, StoreError: the database cannot be used.
        ClusterctlError: the inventory cannot be read.
    """
    hosts = list_hosts(config.inventory, request.target, limit=request.limit, vault_ids=request.vault_ids).hosts
    order_id = f"order-{secrets.token_hex(4)}"
    pattern = Shard(order_id, "", "", (), content_digest(config), config.operator, request.options.to_json())
    shards = split(hosts, pattern)
    return asyncio.run(_queue(config.store_url, shards, confirm))


async def _queue(url: str, shards: Sequence[Shard], confirm: Callable[[Sequence[Shard]], bool]) -> tuple[Shard, ...]:
    async with JobQueue.open(url) as queue:
        if not confirm(shards):
            return ()
        with Store.open(url) as store:
            queued = store.queue_shards(shards)
        await queue.add(s for s in queued if s.state is ShardState.QUEUED)
    return queued
