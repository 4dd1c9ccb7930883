"""What a worker does with a shard, in a process of its own: the same function as `provision` without a queue, and the recorded end."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clusterctl.adapters.content_digest import content_digest
from clusterctl.adapters.store import Store
from clusterctl.model.errors import (
    BreakerError,
    ClusterctlError,
    ContentDiffersError,
    InterruptedRunError,
    LeaseHeldError,
    OutsideWindowError,
    PoolUnreachableError,
    StaleTokenError,
    StoreError,
)
from clusterctl.model.provision import ProvisionOptions
from clusterctl.model.shard import ShardKind, ShardState
from clusterctl.workflows.provision.request import ProvisionRequest
from clusterctl.workflows.provision.start import run_provision
from clusterctl.workflows.queue.measure_across import measure_across

if TYPE_CHECKING:
    from clusterctl.adapters.config import Config
    from clusterctl.model.exit_codes import ExitCode
    from clusterctl.model.shard import Fence, Shard
    from clusterctl.workflows.provision.request import ProgressListener

# the nodes are free later: another run ends, other racks return to the pool, a maintenance window opens, the scheduler answers
WAITS = (LeaseHeldError, BreakerError, OutsideWindowError, PoolUnreachableError)
# after these, the same shard may well succeed: it goes back to the queue
PASSING = (StoreError, InterruptedRunError, ContentDiffersError)


def provision_shard(config: Config, fence: Fence, vault_ids: tuple[str, ...], listener: ProgressListener) -> ExitCode:
    """Work on the nodes of a shard and record its end; after an error that may pass, the shard is left as it is, or queued again.

    Raises:
        LeaseHeldError, BreakerError, OutsideWindowError, PoolUnreachableError: its nodes cannot be provisioned now; the shard is queued again.
        StaleTokenError: another worker has the shard.
        ContentDiffersError: this machine's content is not what the shard names.
        ClusterctlError: as `run_provision`.
    """
    with Store.open(config.store_url) as store:
        shard = store.shard(fence.shard_id)
        if shard is None or shard.token != fence.token:
            raise StaleTokenError(shard_id=fence.shard_id, token=fence.token, newest=shard.token if shard else None)
        try:
            code, run_id, detail = _work_on(config, shard, vault_ids, listener)
        except WAITS as e:  # no fault of the shard, however long it takes
            store.queue_again(fence, str(e), failed=False)
            raise
        except PASSING:
            raise
        except ClusterctlError as e:
            store.end_shard(fence, ShardState.FAILED, exit_code=int(e.exit_code), detail=str(e))
            raise
        store.end_shard(fence, ShardState.DONE, exit_code=int(code), run_id=run_id, detail=detail)
        return code


def _work_on(config: Config, shard: Shard, vault_ids: tuple[str, ...], listener: ProgressListener) -> tuple[ExitCode, str, str]:
    """Exit code and id of the run, and what else is to be reported."""
    found = content_digest(config)
    if found != shard.content:
        raise ContentDiffersError(what=f"shard {shard.id}", wanted=shard.content[:12], found=found[:12])
    config = replace(config, operator=shard.operator)
    if shard.kind is ShardKind.ACROSS:
        across = measure_across(config, shard, vault_ids)
        return across.exit_code, across.run_id, across.detail
    options = ProvisionOptions.from_json(shard.options)
    request = ProvisionRequest(",".join(shard.nodes), options, vault_ids=vault_ids, fence=shard.fence)
    result = run_provision(config, request, listener)
    return result.exit_code, result.run_id, ""
