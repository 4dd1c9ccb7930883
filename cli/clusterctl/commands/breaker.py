"""`clusterctl breaker`: what may leave the pool now, and the reset of the circuit breaker."""

from __future__ import annotations

import rich_click as click

from clusterctl.commands.option_types import SENTENCE
from clusterctl.commands.options import load_config, output_option
from clusterctl.model.errors import UsageProblemError


@click.command("breaker")
@click.option("--reset", is_flag=True, help="Close it, and start its window anew.")
@click.option("--reason", type=SENTENCE, metavar="TEXT", help="With --reset: what was found, for the record.")
@output_option
@click.pass_context
def command(ctx: click.Context, *, reset: bool, reason: str | None, output: str) -> int:
    """Show how many nodes may leave the pool now, by circuit breaker and maintenance windows.

    The breaker opens when `drift` would take too much of the pool out: then nothing leaves without --force until a person resets it.
    """
    from clusterctl.adapters.pools.headroom import Headroom  # noqa: PLC0415 `--help` must not pay for it
    from clusterctl.adapters.pools.loader import load_pool  # noqa: PLC0415
    from clusterctl.adapters.store import Store  # noqa: PLC0415
    from clusterctl.terminal import breaker as view  # noqa: PLC0415
    from clusterctl.workflows.breaker import look  # noqa: PLC0415

    if reset != bool(reason):
        raise UsageProblemError(detail="--reset and --reason belong together", hint="clusterctl breaker --reset --reason WHY")
    config = load_config(ctx, gates=False)
    with (Store.open if reset else Store.open_to_read)(config.store_url) as store:
        if reason:
            store.reset_breaker(operator=config.operator, reason=reason)
        view.show_breaker(look(Headroom(store, load_pool(config.pool, store), config.limits)), output)
    return 0
