"""`clusterctl plan TARGET`: what provisioning would change; changes nothing."""

from __future__ import annotations

from pathlib import Path

import rich_click as click

from clusterctl.commands.options import inventory_option, limit_option, load_config, output_option, target_argument, vault_option
from clusterctl.terminal import messages


@click.command("plan")
@target_argument
@inventory_option
@limit_option
@vault_option
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Also write the plan as JSON.")
@click.option("--ansible", is_flag=True, help="Use Ansible's check mode (slower: minutes) instead of the validators.")
@output_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    target: str,
    inventory: tuple[str, ...],
    limit: str | None,
    vault_ids: tuple[str, ...],
    out: Path | None,
    ansible: bool,
    output: str,
) -> int:
    """Show what provisioning would change on the nodes of TARGET.

    Exits with 0 if nothing is to be changed, 8 if something is, 4 if a node was not reached, 6 if a check could not run.
    """
    from clusterctl.terminal import plan  # noqa: PLC0415
    from clusterctl.terminal.validation_progress import validation_progress  # noqa: PLC0415
    from clusterctl.workflows import plan as planning  # noqa: PLC0415 `--help` must not pay for it
    from clusterctl.workflows.target_filter import load_target  # noqa: PLC0415

    config = load_config(ctx, inventory, gates=True)
    nodes = load_target(config, target, messages.note, limit=limit, vault_ids=vault_ids)
    if ansible:
        rehearsed = planning.plan_by_check_mode(config, target, nodes)
        plan.save(rehearsed.body, "plan_ansible", out)
        plan.show_check_mode(rehearsed.found, rehearsed.outcome, rehearsed.body, output)
        return int(rehearsed.code)
    with validation_progress(len(nodes)) as listener:
        planned = planning.plan_by_validators(config, target, nodes, listener)
    plan.save(planned.body, "plan", out)
    plan.show_plan(planned.plan, planned.body, output)
    return int(planned.code)
