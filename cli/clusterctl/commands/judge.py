"""`clusterctl judge RUN`: judge a stored burn-in again, offline."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import rich_click as click

from clusterctl.commands import complete
from clusterctl.commands.options import inventory_option, load_config, output_option, vault_option


@click.command("judge")
@click.argument("run", shell_complete=complete.runs)
@inventory_option
@vault_option
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
    gate: str,
    baselines: Path | None,
    recorded: bool,
    output: str,
) -> int:
    """Judge the raw records of RUN again under today's profile: an id, a unique prefix of one, `last`, or a run directory.

    Contacts no node and changes no record. Exits with 0 if all gates pass, 7 if one fails or could not run, 4 if a node was not reached.
    """
    from clusterctl.adapters.inventory.load import load_nodes  # noqa: PLC0415
    from clusterctl.adapters.store import Store  # noqa: PLC0415
    from clusterctl.model.gate_result import gates_exit_code  # noqa: PLC0415 `--help` must not pay for it
    from clusterctl.terminal import gates as view  # noqa: PLC0415
    from clusterctl.workflows.judge_again import judge_stored  # noqa: PLC0415

    config = load_config(ctx, inventory, gates=True)
    directory = Path(run)
    if not directory.is_dir():
        with Store.open_to_read(config.store_url) as store:
            directory = Path(store.run(run).directory)
    load = None if recorded else partial(load_nodes, config.inventory, vault_ids=vault_ids)
    again = judge_stored(directory, load, gate=gate, baselines=baselines)
    header = again.header
    body = {"run": directory.name, "directory": str(directory), "level": header.level, "gates": [gate] if gate else list(header.gates)}
    view.show_results("judge", output, {**body, "pair_coverage": header.pair_coverage}, again.results, again.nodes, group=again.group)
    return int(gates_exit_code(again.results))
