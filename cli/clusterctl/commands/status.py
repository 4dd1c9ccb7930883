"""`clusterctl status`: where nodes stand, from the store, and with --ask-pool from the scheduler; no node is contacted."""

from __future__ import annotations

import gc
from pathlib import Path

import rich_click as click

from clusterctl.commands import complete
from clusterctl.commands.options import load_config, output_option


@click.command("status")
@click.argument("target", default="all", shell_complete=complete.targets)
@output_option
@click.option(
    "--textfile",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Only write metrics of the record for node exporter.",
)
@click.option("--ask-pool", is_flag=True, help="Query the pool for the nodes that run jobs.")
@click.option("--runs", is_flag=True, help="Runs in progress, queued racks and workers instead of nodes.")
@click.pass_context
def command(ctx: click.Context, target: str, output: str, textfile: Path | None, *, ask_pool: bool, runs: bool) -> None:
    """Show the state of each node, and why.

    TARGET is a node, a range as r12-n[01-18], a rack, a group, a pattern, a comma-separated list of those, or `all`.
    """
    from clusterctl.terminal import messages  # noqa: PLC0415 `--help` must not pay for it
    from clusterctl.terminal import status as view  # noqa: PLC0415
    from clusterctl.terminal.pool_contradictions import note_contradictions  # noqa: PLC0415
    from clusterctl.workflows.status import hardware_of_all, overview, with_pool  # noqa: PLC0415

    config = load_config(ctx, gates=False)
    if textfile:
        if ask_pool:
            raise click.UsageError("--textfile exports the record alone, without --ask-pool")
        from clusterctl.workflows.fleet_figures import export_fleet  # noqa: PLC0415

        export_fleet(config, target, textfile)
        return
    if runs:
        if ask_pool or target != "all":
            raise click.UsageError("--runs shows all runs, without TARGET and --ask-pool")
        from clusterctl.terminal.shards import show_runs  # noqa: PLC0415
        from clusterctl.workflows.queue.runs_overview import runs_overview  # noqa: PLC0415

        show_runs(runs_overview(config.store_url), output)
        return
    gc.freeze()  # what is imported stays: while thousands of nodes are read, the collector would walk all of it several times
    found = overview(config.store_url, target)
    if ask_pool:
        found = with_pool(config, found)
        if found.busy is None:
            messages.note(f"the pool `{config.pool.kind}` does not report which nodes run jobs")
        note_contradictions(found)
    view.show_status(found, output, {} if output == "table" else hardware_of_all(config.store_url))
