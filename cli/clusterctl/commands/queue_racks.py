"""`clusterctl provision --queue` and `--cancel`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rich_click as click

from clusterctl.adapters.store import Store
from clusterctl.commands.options import load_config
from clusterctl.model.errors import UsageProblemError
from clusterctl.model.exit_codes import ExitCode
from clusterctl.terminal import shards as view
from clusterctl.workflows.queue.enqueue import queue_provision

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.adapters.config import Config
    from clusterctl.model.shard import Shard
    from clusterctl.workflows.provision.request import ProvisionRequest

_NOT_QUEUED = {
    "check": "a worker has no operator to confirm: `clusterctl plan` shows what it would do",
    "plan_file": "a plan is of one run, and a queue makes one per rack",
    "resume": "queue the same target again: a worker goes on where the nodes stand",
    "inventory": "workers read the inventory of their own clusterctl.yml",
    "extra_vars": "they may hold secrets, which never go through the queue: declare them in the inventory",
    "verbose": "the output is in the run directories of the workers",
}


def queue_racks(config: Config, request: ProvisionRequest, given: dict[str, Any]) -> ExitCode:
    """Queue the racks of a target, and show them.

    Raises:
        UsageProblemError: an option that a worker cannot follow.
    """
    for name, why in _NOT_QUEUED.items():
        if given[name]:
            raise UsageProblemError(detail=f"--queue cannot be combined with --{name.removesuffix('_file').replace('_', '-')}", hint=why)
    if request.options.ansible_args:
        raise UsageProblemError(detail="--queue takes no arguments of ansible-playbook", hint="run this target without --queue")

    def confirm(shards: Sequence[Shard]) -> bool:
        return bool(given["yes"]) or click.confirm(view.queue_question(shards), err=True)

    queued = queue_provision(config, request, confirm)
    if not queued:
        return ExitCode.CHANGES_PENDING
    view.show_queued(queued, given["output"])
    return ExitCode.OK


def cancel_order(ctx: click.Context, given: dict[str, Any]) -> ExitCode:
    """Cancel what is left of an order, and show it.

    Raises:
        UsageProblemError: nothing of it waits for a worker.
    """
    if given["target"] or given["queue"]:
        raise UsageProblemError(detail="--cancel takes an order only", hint="clusterctl provision --cancel ORDER")
    config = load_config(ctx, gates=False)
    with Store.open(config.store_url) as store:
        cancelled = store.cancel_shards(given["cancel"], f"cancelled by {config.operator}")
    if not cancelled:
        detail = f"no rack of order {given['cancel']!r} waits for a worker"
        raise UsageProblemError(
            detail=detail, hint="`clusterctl status --runs` shows orders; a rack that a worker has taken goes on to its end"
        )
    view.show_queued(cancelled, given["output"])
    return ExitCode.OK
