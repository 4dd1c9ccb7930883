"""`clusterctl inventory [TARGET]`: racks and nodes."""

from __future__ import annotations

import rich_click as click

from clusterctl.commands import complete
from clusterctl.commands.options import inventory_option, limit_option, load_config, output_option, vault_option
from clusterctl.terminal import inventory as render


@click.command("inventory")
@click.argument("target", default="all", shell_complete=complete.targets)
@inventory_option
@limit_option
@vault_option
@output_option
@click.pass_context
def command(
    ctx: click.Context, *, target: str, inventory: tuple[str, ...], limit: str | None, vault_ids: tuple[str, ...], output: str
) -> None:
    """List the nodes of TARGET (default: all) with rack, slot, profile and leaf."""
    from clusterctl.adapters.inventory.load import list_hosts  # noqa: PLC0415 `--help` needs no inventory

    config = load_config(ctx, inventory)
    render.topology(output, list_hosts(config.inventory, target, limit=limit, vault_ids=vault_ids))
