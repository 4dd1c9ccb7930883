"""`clusterctl forget`: take nodes out of the record."""

from __future__ import annotations

import sys

import rich_click as click

from clusterctl.commands.options import load_config, output_option, target_argument
from clusterctl.model.errors import UsageProblemError
from clusterctl.model.exit_codes import ExitCode


@click.command("forget")
@target_argument
@click.option("-y", "--yes", is_flag=True, envvar="CLUSTERCTL_YES", help="Do not prompt for confirmation.   [env: CLUSTERCTL_YES]")
@output_option
@click.pass_context
def command(ctx: click.Context, target: str, *, yes: bool, output: str) -> int:
    """Delete the nodes of TARGET from the record, with their history: for nodes recorded by mistake or gone for good.

    No node is contacted. Runs and their directories stay. Exits with 2 if a node is admitted, 3 if a run holds one, 8 if the operator declines.
    """
    from clusterctl.adapters.pools.loader import load_pool  # noqa: PLC0415 `--help` must not pay for it
    from clusterctl.adapters.store import Store  # noqa: PLC0415
    from clusterctl.core.recorded_target import match  # noqa: PLC0415
    from clusterctl.terminal import forgotten as view  # noqa: PLC0415
    from clusterctl.workflows.forget import forget  # noqa: PLC0415

    if not (yes or sys.stdin.isatty()):
        raise UsageProblemError(
            detail="stdin is not a terminal: the question cannot be answered", hint="add --yes (or set CLUSTERCTL_YES=1)"
        )
    config = load_config(ctx, gates=False)
    with Store.open_recorded(config.store_url) as store:
        nodes = match(store.nodes(), target)
        if not (yes or click.confirm(view.question(nodes), err=True)):
            return ExitCode.CHANGES_PENDING
        forget(store, load_pool(config.pool, store), nodes, target=target, operator=config.operator, state_dir=config.state_dir)
    view.show_forgotten(nodes, output)
    return ExitCode.OK
