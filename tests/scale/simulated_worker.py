"""A worker whose shards have simulated nodes."""

from __future__ import annotations

import asyncio
import sys

from clusterctl.adapters.store import Store
from clusterctl.model.shard import Worker
from clusterctl.terminal.shards import show_progress
from clusterctl.workflows.queue.work import ShardCommand, ShardWorker

SITE, CONTENT = "simulated", "simulated"
LOST_AFTER_S = 3.0


def main(url: str, name: str, state_dir: str, pause_s: str) -> None:
    """Work until it is stopped."""
    command = ShardCommand((sys.executable, "-m", "scale.simulated_shard", url, state_dir, pause_s), {})
    with Store.open(url) as store:
        worker = ShardWorker(store, url, Worker(name, SITE, CONTENT, 2), lambda: CONTENT, command, show_progress, LOST_AFTER_S)
        asyncio.run(worker.run())


if __name__ == "__main__":
    main(*sys.argv[1:])
