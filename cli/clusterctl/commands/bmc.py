"""`clusterctl bmc`: what the BMCs of nodes report."""

from __future__ import annotations

import rich_click as click

from clusterctl.commands.options import inventory_option, limit_option, load_config, output_option, target_argument, vault_option

_SECTIONS = ("log", "sensors", "protocols", "console")
_ACCOUNTS = "accounts"


@click.command("bmc")
@target_argument
@inventory_option
@limit_option
@vault_option
@click.option(
    "--only",
    type=click.Choice([*_SECTIONS, _ACCOUNTS]),
    multiple=True,
    help="Only this section; repeat for several. `accounts`, which tries a change, is shown only where it is named.",
)
@click.option("--entries", type=click.IntRange(1, 2000), default=20, show_default=True, help="Newest entries of each log.")
@output_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    target: str,
    inventory: tuple[str, ...],
    limit: str | None,
    vault_ids: tuple[str, ...],
    only: tuple[str, ...],
    entries: int,
    output: str,
) -> int:
    """Show what the BMCs of TARGET report: event log, sensors, enabled protocols, serial console. Changes nothing and contacts no node.

    `--only accounts` sets the asset tag of the machine to what it is, with bmc_readonly_user: the BMC must refuse that, and log it.

    Exits with 4 if a BMC, or a section of it, could not be read.
    """
    from clusterctl.adapters.inventory.load import load_nodes  # noqa: PLC0415
    from clusterctl.model.bmc_report import BmcSection  # noqa: PLC0415 `--help` must not pay for it
    from clusterctl.model.exit_codes import ExitCode  # noqa: PLC0415
    from clusterctl.terminal import bmc as view  # noqa: PLC0415
    from clusterctl.workflows.bmc_reports import bmc_reports  # noqa: PLC0415

    config = load_config(ctx, inventory, gates=False)
    nodes = load_nodes(config.inventory, target, limit=limit, vault_ids=vault_ids)
    sections = tuple(BmcSection(s) for s in only or _SECTIONS)
    reports = bmc_reports(config, nodes, sections, entries, vault_ids=vault_ids)
    view.show_bmcs(reports, sections, output)
    return int(ExitCode.UNREACHABLE if any(r.problem or r.missing for r in reports) else ExitCode.OK)
