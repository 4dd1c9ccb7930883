"""`clusterctl validate TARGET`: verify nodes against their spec; changes nothing."""

from __future__ import annotations

import rich_click as click

from clusterctl.commands.option_types import TIMEOUT_S
from clusterctl.commands.options import inventory_option, limit_option, load_config, target_argument, vault_option
from clusterctl.terminal import findings as view
from clusterctl.terminal import messages
from clusterctl.terminal.validation_progress import validation_progress


@click.command("validate")
@target_argument
@inventory_option
@limit_option
@vault_option
@click.option("-k", "--only", multiple=True, metavar="GLOB", help="Only checks whose id matches, e.g. 'hugepages.*'; may be repeated.")
@click.option("--forks", type=click.IntRange(1, 1024), default=64, show_default=True, help="Nodes validated at the same time.")
@click.option("--timeout", "timeout_s", type=TIMEOUT_S, default=180.0, show_default=True, help="Seconds per node.")
@click.option("--check-timeout", "check_s", type=click.FloatRange(0.1), default=20.0, show_default=True, help="Seconds per check.")
@click.option("-o", "--output", type=click.Choice(view.FORMATS), default="table", show_default=True, help="Format of the result.")
@click.pass_context
def command(
    ctx: click.Context,
    *,
    target: str,
    inventory: tuple[str, ...],
    limit: str | None,
    vault_ids: tuple[str, ...],
    only: tuple[str, ...],
    forks: int,
    timeout_s: float,
    check_s: float,
    output: str,
) -> int:
    """Verify the nodes of TARGET against their declared state, in one round trip each.

    Exits with 0 if all is as declared, 6 if a check failed or could not run, 4 if a node was not reached.
    """
    from clusterctl.adapters.validators import ValidationSettings  # noqa: PLC0415
    from clusterctl.workflows.target_filter import load_target  # noqa: PLC0415
    from clusterctl.workflows.validate import read_only_run, validate_recorded  # noqa: PLC0415

    config = load_config(ctx, inventory, gates=False)
    nodes = load_target(config, target, messages.note, limit=limit, vault_ids=vault_ids)
    settings = ValidationSettings(concurrency=forks, node_timeout_s=timeout_s, check_timeout_s=check_s, only=only)
    with read_only_run("validate", target, nodes, config) as run:
        with validation_progress(len(nodes)) as listener:
            results = validate_recorded(run, nodes, config, settings, listener)
        run.rundir.write_parts("findings.json", view.findings_json_parts(results, run.rundir.id))
    view.show_findings(results, output, run.rundir.id)
    return int(run.code)
