"""`clusterctl status`: where nodes stand, from the store alone; no node is contacted."""

from __future__ import annotations

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
@click.pass_context
def command(ctx: click.Context, target: str, output: str, textfile: Path | None) -> None:
    """Show the state of each node, and why.

    TARGET is a node, a rack, a group, a pattern, a comma-separated list of those, or `all`.
    """
    from clusterctl.terminal import status as view  # noqa: PLC0415 `--help` must not pay for it
    from clusterctl.workflows.status import overview  # noqa: PLC0415

    if textfile:
        from clusterctl.workflows.fleet_figures import export_fleet  # noqa: PLC0415

        export_fleet(load_config(ctx, gates=False), target, textfile)
        return
    view.show_status(overview(load_config(ctx, gates=False).store_url, target), output)
