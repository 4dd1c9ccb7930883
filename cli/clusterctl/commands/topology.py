"""`clusterctl topology [TARGET]`: the fabric as schedulers read it."""

from __future__ import annotations

import rich_click as click

from clusterctl.commands import complete
from clusterctl.commands.options import inventory_option, limit_option, load_config, vault_option

_FORMATS = ("slurm-tree", "slurm-block", "slurm-yaml", "kubernetes")


@click.command("topology")
@click.argument("target", default="all", shell_complete=complete.targets)
@click.option("--format", "kind", type=click.Choice(_FORMATS), default="slurm-yaml", show_default=True, help="What to write.")
@inventory_option
@limit_option
@vault_option
@click.pass_context
def command(
    ctx: click.Context, *, target: str, kind: str, inventory: tuple[str, ...], limit: str | None, vault_ids: tuple[str, ...]
) -> None:
    """Print leaf, spine and NVLink domain of the nodes of TARGET (default: all) as a scheduler reads them.

    slurm-tree and slurm-block are a topology.conf, slurm-yaml a topology.yaml (Slurm 25.05), kubernetes a list of nodes with labels.
    """
    from clusterctl.adapters.inventory.load import list_hosts  # noqa: PLC0415 `--help` needs no inventory
    from clusterctl.terminal.scheduler_topology import show_topology  # noqa: PLC0415

    config = load_config(ctx, inventory, gates=False)
    show_topology(target, list_hosts(config.inventory, target, limit=limit, vault_ids=vault_ids).hosts, kind)
