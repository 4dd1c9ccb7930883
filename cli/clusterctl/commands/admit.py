"""`clusterctl admit`: into the pool, on stored evidence alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click

from clusterctl.commands.options import inventory_option, limit_option, load_config, output_option, target_argument

if TYPE_CHECKING:
    from clusterctl.gates.settings import Level


@click.command("admit")
@target_argument
@click.option(
    "--level", type=click.Choice(["quick", "standard", "full"]), default="quick", show_default=True, help="Burn-in level to demand."
)
@inventory_option
@limit_option
@output_option
@click.pass_context
def command(ctx: click.Context, target: str, *, level: Level, inventory: tuple[str, ...], limit: str | None, output: str) -> int:
    """Admit the nodes of TARGET that have complete, passing, current evidence; say what the others lack.

    No node is touched or asked: `clusterctl provision` gathers evidence, and admits by itself.
    """
    from datetime import UTC, datetime  # noqa: PLC0415 `--help` must not pay for it

    from clusterctl.admitting import Admitter, Candidate  # noqa: PLC0415
    from clusterctl.gates.profile import profile_of  # noqa: PLC0415
    from clusterctl.pool.loader import load_pool  # noqa: PLC0415
    from clusterctl.render import admissions as view  # noqa: PLC0415
    from clusterctl.spec.load import load_nodes  # noqa: PLC0415
    from clusterctl.store import Store  # noqa: PLC0415
    from clusterctl.versions import versions  # noqa: PLC0415

    config = load_config(ctx, inventory)
    nodes = load_nodes(config.inventory, target, limit=limit)
    profiles = {n.name: profile_of(n, datetime.now(UTC).date()) for n in nodes}
    candidates = [Candidate(n, profiles[n.name].levels[level], profiles[n.name].baselines) for n in nodes]
    with Store.open(config.store_url) as store:
        store.register(nodes)
        admitter = Admitter(store, load_pool(config.pool, store), config.operator, versions())
        admissions = admitter.admit(candidates)
    return view.show(admissions, output)
