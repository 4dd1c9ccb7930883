"""`clusterctl drain`: take nodes out of the pool."""

from __future__ import annotations

import rich_click as click

from clusterctl.commands.option_types import CODE, SENTENCE
from clusterctl.commands.options import load_config, output_option, target_argument


@click.command("drain")
@target_argument
@click.option("--reason", type=SENTENCE, required=True, metavar="TEXT", help="Why, for the record and the scheduler.")
@click.option(
    "--code",
    type=CODE,
    metavar="CODE",
    help="What it is, for programs: record and scheduler show person.CODE. With `--to quarantined`, automatic repair may act on it.",
)
@click.option("--force", is_flag=True, help="Past the circuit breaker and the maintenance windows.")
@click.option(
    "--to",
    type=click.Choice(("drained", "maintenance", "quarantined", "rma", "retired")),
    default="drained",
    show_default=True,
    help="Where they go; except for `drained`, earlier evidence becomes invalid.",
)
@click.option(
    "--wait", is_flag=True, help="Wait for what still runs there, as `provision` does and as long; exits with 8 if it has not ended."
)
@output_option
@click.pass_context
def command(ctx: click.Context, *, target: str, reason: str, code: str | None, force: bool, to: str, wait: bool, output: str) -> int:
    """Take the nodes of TARGET out of the pool: for now, for work on them (maintenance), for the vendor (rma) or for good (retired).

    Outside of the maintenance windows of clusterctl.yml only `--to quarantined` takes members out: a faulty node need not wait.
    They stay out, with you as owner, until `release` or an explicit --include-drained. Jobs that run there go on, and are named.
    Nodes that are there already, or cannot go there (exit status 2), stay as they are and are named.
    """
    from clusterctl.adapters.pools.loader import load_pool  # noqa: PLC0415
    from clusterctl.adapters.store import Store  # noqa: PLC0415
    from clusterctl.core.recorded_target import match  # noqa: PLC0415
    from clusterctl.model.exit_codes import ExitCode, worst  # noqa: PLC0415 `--help` must not pay for it
    from clusterctl.model.state import State  # noqa: PLC0415
    from clusterctl.terminal import moves as view  # noqa: PLC0415
    from clusterctl.workflows.drain import drain, still_running  # noqa: PLC0415

    config = load_config(ctx, gates=False)
    with Store.open_recorded(config.store_url) as store:
        nodes = match(store.nodes(), target)
        pool, who = load_pool(config.pool, store), config.operator
        limits = config.limits.unplanned() if to == State.QUARANTINED else config.limits
        moves = drain(store, pool, nodes, operator=who, reason=reason, force=force, to=State(to), owner=who, code=code or "", limits=limits)
        running = still_running(pool, moves, view.note_waiting if wait else None)
    unknown = ExitCode.CONFIG if running.problem else ExitCode.OK
    left = ExitCode.CHANGES_PENDING if running.jobs else unknown
    return int(worst([view.show_drained(moves, output, running), left if wait else ExitCode.OK]))
