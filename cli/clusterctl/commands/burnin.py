"""`clusterctl burnin TARGET`: measure and judge."""

from __future__ import annotations

import rich_click as click

from clusterctl.commands import complete
from clusterctl.commands.names_type import names_option
from clusterctl.commands.options import inventory_option, limit_option, load_config, output_option, target_argument, vault_option
from clusterctl.terminal import messages


@click.command("burnin")
@target_argument
@inventory_option
@limit_option
@vault_option
@click.option(
    "--level", type=click.Choice(("quick", "standard", "full")), default="standard", show_default=True, help="How much to measure."
)
@names_option("--gates", metavar="GATE,...", shell_complete=complete.gates, help="Only these gates of the level.")
@click.option(
    "--partners",
    default="",
    metavar="PATTERN",
    shell_complete=complete.targets,
    help="Known-good nodes to measure with; they are not judged.",
)
@click.option("--in-service", is_flag=True, help="Measure nodes that are admitted, too; jobs there will suffer.")
@output_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    target: str,
    inventory: tuple[str, ...],
    limit: str | None,
    vault_ids: tuple[str, ...],
    level: str,
    gates: tuple[str, ...],
    partners: str,
    in_service: bool,
    output: str,
) -> int:
    """Measure the nodes of TARGET and judge what they reach: DCGM, RDMA pairs, NCCL.

    Exits with 0 if all gates passed, 7 if one failed or could not run, 4 if a node was not reached. Admits nobody.
    """
    from clusterctl.adapters.inventory.load import load_nodes  # noqa: PLC0415
    from clusterctl.adapters.raw_records import read_header  # noqa: PLC0415
    from clusterctl.core.gates.judging.group_findings import group_findings  # noqa: PLC0415
    from clusterctl.core.gates.judging.not_proven import not_proven  # noqa: PLC0415
    from clusterctl.core.gates.planning.usual_time import usual_time_s  # noqa: PLC0415
    from clusterctl.terminal import gates as view  # noqa: PLC0415
    from clusterctl.terminal.live import burnin_progress  # noqa: PLC0415
    from clusterctl.workflows.burnin.measure_and_judge import gates_measured, level_named, require_in_level, run_burnin, subjects_of  # noqa: PLC0415 `--help` must not pay for it
    from clusterctl.workflows.burnin.recorded import burnin_run  # noqa: PLC0415
    from clusterctl.workflows.target_filter import load_target  # noqa: PLC0415

    config = load_config(ctx, inventory, gates=True)
    nodes = load_target(config, target, messages.note, limit=limit, vault_ids=vault_ids)
    judged = {n.name for n in nodes}
    found = load_nodes(config.inventory, partners, vault_ids=vault_ids) if partners else ()
    others = tuple(n for n in found if n.name not in judged)
    only = gates or None
    subjects = subjects_of(nodes, others)
    require_in_level(subjects, level, only or ())
    names = [n.name for n in (*nodes, *others)]
    messages.note(view.time_line(level, usual_time_s(subjects, level_named(level), gates_measured(only))))
    with burnin_run(target, nodes, others, config, level_named(level), in_service=in_service) as run:
        for text in run.notes:
            messages.note(text)
        with burnin_progress(names, level) as on_event:
            run.results = run_burnin(subjects, run.rundir, config, level, gates=only, usual=run.usual, on_event=on_event)
        run.group = group_findings(subjects, run.results, run.installed)
    header = read_header(run.rundir.path)
    body = {"run": run.rundir.id, "directory": str(run.rundir.path), "level": level, "gates": list(header.gates)}
    more = {"pair_coverage": header.pair_coverage, "not_proven": not_proven(subjects, header.level, header.gates)}
    view.show_results("burnin", output, {**body, **more}, run.results, [n.name for n in nodes], group=run.group)
    return int(run.code)
