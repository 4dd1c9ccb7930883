"""`clusterctl drift TARGET`: validate again and report what changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import rich_click as click

from clusterctl.commands import complete
from clusterctl.commands.option_types import TIMEOUT_S
from clusterctl.commands.options import inventory_option, limit_option, load_config, vault_option
from clusterctl.terminal import messages

_FORMATS = ("table", "json", "yaml", "junit")


@click.command("drift")
@click.argument("target", default="all", shell_complete=complete.targets)
@inventory_option
@limit_option
@vault_option
@click.option("--policy", "words", default="", metavar="SEVERITY=ACTION,...", help="report, drain or heal, by severity; default: report.")
@click.option("--booted", is_flag=True, help="Only nodes that booted since they were last verified, as the pool reports it.")
@click.option("--resume", is_flag=True, help="With --booted: return admitted nodes that the pool took out for a boot, if as declared.")
@click.option("--heal", is_flag=True, help="Heal what the policy allows: one node first, with `provision`, then the others.")
@click.option("--since", default="", metavar="DURATION", help="Show only what was first seen since: 90m, 24h, 7d, 2w.")
@click.option("--textfile", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Also write metrics for node exporter.")
@click.option(
    "--write-nightly", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="Only write units, CronJob and alert rules."
)
@click.option("--forks", type=click.IntRange(1, 1024), default=64, show_default=True, help="Nodes validated at the same time.")
@click.option("--timeout", "timeout_s", type=TIMEOUT_S, default=180.0, show_default=True, help="Seconds per node.")
@click.option("-o", "--output", type=click.Choice(_FORMATS), default="table", show_default=True, help="Format of the result.")
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> int:
    """Report what changed on the nodes of TARGET since they were last provisioned: the nodes (drift), or their declared state (pending).

    Changes no node unless --heal is given. Exits with 0 if nothing changed, 8 if something did, 6 if a check could not run, 4 if a node was not reached.
    """
    from clusterctl.adapters.validators import ValidationSettings  # noqa: PLC0415
    from clusterctl.core.lifecycle import MAY_BE_SILENT  # noqa: PLC0415
    from clusterctl.terminal import drift as view  # noqa: PLC0415
    from clusterctl.terminal.validation_progress import validation_progress  # noqa: PLC0415
    from clusterctl.workflows.drift.booted import select_booted  # noqa: PLC0415
    from clusterctl.workflows.drift.check_drift import check_drift  # noqa: PLC0415 `--help` must not pay for it
    from clusterctl.workflows.target_filter import load_target  # noqa: PLC0415

    if given["write_nightly"]:
        from clusterctl.workflows.drift import nightly  # noqa: PLC0415

        view.written(nightly.write(given["write_nightly"]))
        return 0
    config = load_config(ctx, given["inventory"], gates=True)
    options = _options(given, config.drift_policy)
    nodes = load_target(config, options.target, messages.note, limit=given["limit"], vault_ids=given["vault_ids"], away=MAY_BE_SILENT)
    nodes, options = select_booted(config, nodes, options, messages.note, resume=given["resume"])
    settings = ValidationSettings(concurrency=given["forks"], node_timeout_s=given["timeout_s"])
    with validation_progress(len(nodes)) as listener:
        found = check_drift(config, nodes, options, settings, listener)
    if options.heal:
        from clusterctl.commands.heal import heal_with_progress  # noqa: PLC0415 the only way from here to a role

        found = heal_with_progress(found, config, options, given["vault_ids"])
    view.show_drift(found.report, found.shown, found.body, given["output"])
    return int(found.code)


def _options(given: dict[str, Any], site_policy: str) -> Any:
    from clusterctl.core.drift import memory, policy  # noqa: PLC0415
    from clusterctl.terminal.drift_files import render_files  # noqa: PLC0415
    from clusterctl.workflows.drift.check_drift import DriftOptions  # noqa: PLC0415

    try:
        chosen = policy.parse_policy(given["words"] or site_policy)
        since_s = memory.seconds(given["since"]) if given["since"] else None
    except ValueError as e:
        raise click.UsageError(str(e)) from e
    return DriftOptions(given["target"], chosen, given["heal"], since_s, given["textfile"], render_files, given["booted"])
