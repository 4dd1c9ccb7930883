"""`clusterctl doctor`: check this machine and the site's configuration."""

from __future__ import annotations

import rich_click as click

from clusterctl.commands.options import inventory_option, load_config, output_option
from clusterctl.model.exit_codes import ExitCode
from clusterctl.terminal import doctor as render
from clusterctl.workflows.doctor import examine


@click.command("doctor")
@inventory_option
@output_option
@click.pass_context
def command(ctx: click.Context, *, inventory: tuple[str, ...], output: str) -> int:
    """Check this machine and the site's configuration; exits 3 if something required is missing."""
    found = examine(load_config(ctx, inventory, gates=False))
    render.checks(output, found)
    return ExitCode.OK if all(c.ok or not c.required for c in found) else ExitCode.CONFIG
