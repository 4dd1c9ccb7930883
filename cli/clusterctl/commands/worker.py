"""`clusterctl worker`: takes racks from the queue of `provision --queue`."""

from __future__ import annotations

import os
import socket
from functools import partial
from typing import Any

import rich_click as click

from clusterctl.commands.options import load_config, vault_option


@click.command("worker")
@click.option(
    "--site", default="", metavar="SITE", help="Only racks whose nodes have this `site` in the inventory; without it, those that have none."
)
@click.option("--jobs", type=click.IntRange(1, 64), default=1, show_default=True, help="Racks at a time.")
@click.option("--name", default="", metavar="NAME", help="Its name in the record.  [default: HOST-PID]")
@click.option("--until-empty", is_flag=True, help="End when no rack is left to do.")
@click.option(
    "--lost-after",
    "lost_after_s",
    type=click.FloatRange(3, 3600),
    default=60,
    show_default=True,
    metavar="SECONDS",
    help="Silence after which another worker takes over its racks; the same for all workers.",
)
@click.option("--one-shard", is_flag=True, hidden=True)
@vault_option
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> int:
    """Take racks from the queue and provision them, until a signal ends it: the first lets those in progress end, the second interrupts them.

    Runs near the racks, with the same clusterctl.yml, inventory, roles and validators as the machine that queued them: it takes nothing
    for other content. Needs the record in PostgreSQL; see docs/how-to/queue.md.
    """
    import asyncio  # noqa: PLC0415 `--help` must not pay for it

    from clusterctl.adapters.content_digest import content_digest  # noqa: PLC0415
    from clusterctl.adapters.inventory.load import inventory_read_once  # noqa: PLC0415
    from clusterctl.adapters.job_queue import require_postgresql  # noqa: PLC0415
    from clusterctl.adapters.store import Store  # noqa: PLC0415
    from clusterctl.model.shard import Worker  # noqa: PLC0415
    from clusterctl.terminal.shards import show_progress  # noqa: PLC0415
    from clusterctl.workflows.queue.work import ShardWorker, own_command  # noqa: PLC0415

    if given["one_shard"]:
        from clusterctl.commands.one_shard import provision_named_shard  # noqa: PLC0415

        return provision_named_shard(ctx, given["vault_ids"])
    config = load_config(ctx, gates=True)
    require_postgresql(config.store_url)
    about = Worker(given["name"] or f"{socket.gethostname()}-{os.getpid()}", given["site"], content_digest(config), given["jobs"])
    content_now = partial(content_digest, config)
    words = (*(w for v in given["vault_ids"] for w in ("--vault-id", v)), "--one-shard")
    state = ("--state-dir", str(config.state_dir))
    with Store.open(config.store_url) as store, inventory_read_once(config.inventory, given["vault_ids"]) as variables:
        command_line = own_command([*state, "worker", *words], variables)
        worker = ShardWorker(
            store, config.store_url, about, content_now, command_line, show_progress, given["lost_after_s"], given["until_empty"]
        )
        show_progress(about)
        asyncio.run(worker.run())
    return 0
