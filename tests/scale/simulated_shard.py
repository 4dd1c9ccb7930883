"""The process of a shard with simulated nodes: real store, real leases, real queue. Started by a worker with the fence on standard input."""

from __future__ import annotations

import json
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from clusterctl.adapters.store import Store
from clusterctl.commands.one_shard import end_with_the_worker
from clusterctl.model.errors import ClusterctlError
from clusterctl.model.shard import Fence, ShardState
from clusterctl.workflows.provision.resume import take_over
from support.provisioning import World


@dataclass
class SimulatedRack(World):
    """Nodes that pass everything and take some time.

    Attributes:
        address: of the database.
        pause_s: what each operation on the nodes takes.
    """

    address: str = ""
    pause_s: float = 0.0

    @property
    def url(self) -> str:
        return self.address


def main(url: str, state_dir: str, pause_s: str) -> int:
    """Provision the nodes of the shard, and record its end."""
    fence = Fence(**json.loads(sys.stdin.readline()))
    threading.Thread(target=end_with_the_worker, daemon=True).start()
    with Store.open(url) as store:
        shard = store.shard(fence.shard_id)
        if shard is None:
            return 1
        rack = SimulatedRack(Path(state_dir), shard.nodes, address=url, fence=fence, pause_s=float(pause_s))
        rack.before = lambda _operation: time.sleep(rack.pause_s)
        try:
            with Store.open(url, fence=fence) as mine:
                take_over(mine, shard.nodes)
            result = rack.run(force=True)
            store.end_shard(fence, ShardState.DONE, exit_code=int(result.exit_code), run_id=result.run_id)
        except ClusterctlError as e:
            sys.stderr.write(f"shard {shard.id}: {e}\n")
            return int(e.exit_code)
        return int(result.exit_code)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
