"""`clusterctl inventory [TARGET]`: racks and nodes, and the parts of nodes."""

from __future__ import annotations

import rich_click as click

from clusterctl.commands import complete
from clusterctl.commands.options import inventory_option, limit_option, load_config, output_option, vault_option
from clusterctl.model.exit_codes import ExitCode
from clusterctl.terminal import inventory as render
from clusterctl.terminal import messages


@click.command("inventory")
@click.argument("target", default="all", shell_complete=complete.targets)
@inventory_option
@limit_option
@vault_option
@click.option("--parts", is_flag=True, help="The recorded parts with their serial numbers, and what was replaced.")
@click.option("--read", is_flag=True, help="With --parts: read them from the nodes first.")
@output_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    target: str,
    inventory: tuple[str, ...],
    limit: str | None,
    vault_ids: tuple[str, ...],
    parts: bool,
    read: bool,
    output: str,
) -> int:
    """List the nodes of TARGET (default: all) with rack, slot, profile and leaf; or their parts.

    Parts are recorded by `provision` and by --read, which exits with 4 if a node could not be read.
    """
    from clusterctl.adapters.inventory.load import list_hosts  # noqa: PLC0415 `--help` needs no inventory

    if read and not parts:
        raise click.UsageError("--read needs --parts")
    config = load_config(ctx, inventory, gates=False)
    if parts:
        from clusterctl.adapters.store import Store  # noqa: PLC0415
        from clusterctl.terminal import parts as view  # noqa: PLC0415
        from clusterctl.workflows.parts import read_and_record  # noqa: PLC0415
        from clusterctl.workflows.target_filter import load_target  # noqa: PLC0415

        nodes = load_target(config, target, messages.note, limit=limit, vault_ids=vault_ids)
        found = read_and_record(config, target, nodes) if read else ()
        view.show_unread(found)
        with Store.open_to_read(config.store_url) as store:
            view.show_parts([n.name for n in nodes], store.parts(n.name for n in nodes), output)
        return int(ExitCode.UNREACHABLE if any(n.problem for n in found) else ExitCode.OK)
    render.topology(output, list_hosts(config.inventory, target, limit=limit, vault_ids=vault_ids))
    return int(ExitCode.OK)
