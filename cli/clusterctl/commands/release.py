"""`clusterctl release`: let a node start again."""

from __future__ import annotations

import rich_click as click

from clusterctl.commands.option_types import SENTENCE
from clusterctl.commands.options import load_config, output_option, target_argument


@click.command("release")
@target_argument
@click.option("--reason", type=SENTENCE, default="released", show_default=True, metavar="TEXT", help="What was repaired, for the record.")
@output_option
@click.pass_context
def command(ctx: click.Context, target: str, reason: str, output: str) -> int:
    """Let the quarantined, drained, maintained, returned (rma) or retired nodes of TARGET be provisioned again. Admits nothing.

    Nodes that are registered already, or cannot be released (exit status 2), stay as they are and are named.
    """
    from clusterctl.adapters.store import Store  # noqa: PLC0415
    from clusterctl.core.recorded_target import match  # noqa: PLC0415
    from clusterctl.terminal import moves as view  # noqa: PLC0415
    from clusterctl.workflows.drain import release  # noqa: PLC0415 `--help` must not pay for it

    config = load_config(ctx, gates=False)
    with Store.open_recorded(config.store_url) as store:
        moves = release(store, match(store.nodes(), target), operator=config.operator, reason=reason)
    return view.show_released(moves, output)
