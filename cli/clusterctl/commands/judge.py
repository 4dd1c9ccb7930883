"""`clusterctl judge RUN`: judge a stored burn-in again, or outputs of others, offline."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import rich_click as click

from clusterctl.commands import complete
from clusterctl.commands.options import inventory_option, load_config, output_option, vault_option
from clusterctl.model.level import LEVELS, Level


@click.command("judge")
@click.argument("run", metavar="RUN|TARGET", shell_complete=complete.runs)
@inventory_option
@vault_option
@click.option(
    "--input", "given", type=click.Path(path_type=Path), metavar="DIR", help="Judge the outputs DIR/NODE/GATE.* of nodes of TARGET."
)
@click.option(
    "--level", type=click.Choice(LEVELS), default="full", show_default=True, help="With --input: the level that they are to satisfy."
)
@click.option("--gate", default="", metavar="GATE", shell_complete=complete.gates, help="Only the verdicts of this gate.")
@click.option("--baselines", type=click.Path(path_type=Path), metavar="FILE", help="Judge by the gates_baselines of this YAML file.")
@click.option("--recorded", is_flag=True, help="Judge by the profile stored with the run, not by today's inventory.")
@output_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    run: str,
    inventory: tuple[str, ...],
    vault_ids: tuple[str, ...],
    given: Path | None,
    level: Level,
    gate: str,
    baselines: Path | None,
    recorded: bool,
    output: str,
) -> int:
    """Judge the raw records of RUN again under today's profile: an id, a unique prefix of one, `last`, or a run directory.

    With --input, judge what others measured on the nodes of TARGET: one file for each gate of a node, such as DIR/r12-n01/dcgm_diag.json.

    Contacts no node and changes no record. Exits with 0 if all gates pass, 7 if one fails or could not run, 4 if a node was not reached.
    """
    from clusterctl.adapters.inventory.load import load_nodes  # noqa: PLC0415
    from clusterctl.model.errors import UsageProblemError  # noqa: PLC0415
    from clusterctl.model.gate_result import gates_exit_code  # noqa: PLC0415 `--help` must not pay for it
    from clusterctl.terminal import gates as view  # noqa: PLC0415
    from clusterctl.workflows.judge_again import find_run, judge_stored  # noqa: PLC0415
    from clusterctl.workflows.judge_given import judge_given  # noqa: PLC0415

    if given and recorded:
        raise UsageProblemError(detail="--recorded goes with a run, --input with a target", hint="leave one of them out")
    config = load_config(ctx, inventory, gates=True)
    load = partial(load_nodes, config.inventory, vault_ids=vault_ids)
    if given:
        directory = given
        again = judge_given(given, load(run), level, gate=gate, baselines=baselines)
    else:
        directory = find_run(config, run)
        again = judge_stored(directory, None if recorded else load, gate=gate, baselines=baselines)
    body = {"run": directory.name, "directory": str(directory), "level": again.level, "gates": list(again.gates)}
    more = {"pair_coverage": again.pair_coverage, "not_proven": again.not_proven}
    view.show_results("judge", output, {**body, **more}, again.results, again.nodes, group=again.group, given=given is not None)
    return int(gates_exit_code(again.results))
