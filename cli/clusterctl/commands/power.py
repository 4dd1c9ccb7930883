"""`clusterctl power`: switch drained nodes on and off by their BMCs."""

from __future__ import annotations

import rich_click as click

from clusterctl.commands.options import inventory_option, limit_option, load_config, output_option, target_argument, vault_option


@click.command("power")
@click.argument("action", type=click.Choice(("on", "off", "cycle", "ac-cycle", "reboot")))
@target_argument
@inventory_option
@limit_option
@vault_option
@click.option("--force", is_flag=True, help="Query neither pool nor operating system: jobs are killed, data that is not written is lost.")
@click.option("--timeout", "back_s", type=click.FloatRange(1), default=1200.0, show_default=True, help="Seconds until SSH must answer.")
@click.option("--off-timeout", "off_s", type=click.FloatRange(1), default=300.0, show_default=True, help="Seconds until it must be off.")
@output_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    action: str,
    target: str,
    inventory: tuple[str, ...],
    limit: str | None,
    vault_ids: tuple[str, ...],
    force: bool,
    back_s: float,
    off_s: float,
    output: str,
) -> int:
    """Switch the drained nodes of TARGET by their BMCs: on, off, cycle (off, then on: cold), ac-cycle (adapters and BMC lose power, too) or reboot (warm).

    A node that must come back has to answer by SSH with a new boot id. `cycle`, `ac-cycle` and `reboot` take down no more of a rack at once than the
    reboot budget. Nodes on which the pool reports running jobs are refused (2), except for `on`.
    Exits with 0 if all nodes are as requested, 4 if a BMC refused or a node did not come back, 8 if nodes were left out for it.
    """
    from clusterctl.adapters.inventory.load import load_nodes  # noqa: PLC0415
    from clusterctl.adapters.store import Store  # noqa: PLC0415
    from clusterctl.model.exit_codes import worst  # noqa: PLC0415 `--help` must not pay for it
    from clusterctl.model.power import EXIT_CODES, PowerAction  # noqa: PLC0415
    from clusterctl.terminal import power as view  # noqa: PLC0415
    from clusterctl.workflows.power.run_power import run_power  # noqa: PLC0415
    from clusterctl.workflows.power.switch import PowerLimits  # noqa: PLC0415

    config = load_config(ctx, inventory, gates=False)
    nodes = load_nodes(config.inventory, target, limit=limit, vault_ids=vault_ids)
    limits = PowerLimits(force=force, off_s=off_s, back_s=back_s, budget=config.reboot_budget)
    with Store.open(config.store_url) as store:
        run_id, reports = run_power(
            config, store, nodes, PowerAction(action), limits, target=target, vault_ids=vault_ids, ended=view.note_end
        )
    view.show_power(action, run_id, reports, output)
    return int(worst([EXIT_CODES[r.outcome] for r in reports]))
