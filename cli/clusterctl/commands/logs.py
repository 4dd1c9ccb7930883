"""`clusterctl logs`: what nodes logged in the last minutes."""

from __future__ import annotations

import rich_click as click

from clusterctl.commands.option_types import TIME_SPAN_S
from clusterctl.commands.options import inventory_option, limit_option, load_config, output_option, target_argument, vault_option


@click.command("logs")
@target_argument
@inventory_option
@limit_option
@vault_option
@click.option(
    "--since", type=TIME_SPAN_S, default="15m", show_default=True, help="How far back: 90s, 15m, 2h, 3d; by the clock of each node."
)
@click.option("--until", type=TIME_SPAN_S, help="Leave out what is newer than this: 10m is all but the last ten minutes.")
@click.option("--journal", is_flag=True, help="The whole journal, not only what the kernel logged.")
@click.option("--lines", type=click.IntRange(1, 2000), default=200, show_default=True, help="Newest entries of each node.")
@output_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    target: str,
    inventory: tuple[str, ...],
    limit: str | None,
    vault_ids: tuple[str, ...],
    since: int,
    until: int | None,
    journal: bool,
    lines: int,
    output: str,
) -> int:
    """Show the newest entries of the kernel log of TARGET, or of the whole journal: times in UTC, secrets masked. Changes nothing.

    The kernel log is read from the journal, or from dmesg where the journal has none of it. Exits with 4 if the log of a node could not be read.
    """
    from clusterctl.adapters.inventory.load import load_nodes  # noqa: PLC0415 `--help` must not pay for it
    from clusterctl.model.exit_codes import ExitCode  # noqa: PLC0415
    from clusterctl.model.node_log import LogWindow  # noqa: PLC0415
    from clusterctl.terminal.logs import show_node_logs  # noqa: PLC0415
    from clusterctl.workflows.node_logs import read_node_logs  # noqa: PLC0415

    if until is not None and until >= since:
        raise click.UsageError("--until must be shorter than --since: both are how far back")
    config = load_config(ctx, inventory, gates=False)
    nodes = load_nodes(config.inventory, target, limit=limit, vault_ids=vault_ids)
    window = LogWindow(since, lines, journal, until or 0)
    logs = read_node_logs(nodes, config.inventory, window)
    show_node_logs(logs, window, output)
    return int(ExitCode.UNREACHABLE if any(log.problem for log in logs) else ExitCode.OK)
