"""`clusterctl admit`: admit nodes on stored evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click

from clusterctl.commands.options import inventory_option, limit_option, load_config, output_option, target_argument

if TYPE_CHECKING:
    from clusterctl.adapters.config import Config
    from clusterctl.model.level import Level


@click.command("admit")
@target_argument
@click.option(
    "--level",
    type=click.Choice(["quick", "standard", "full"]),
    default="standard",
    show_default=True,
    help="Burn-in level the evidence must have.",
)
@click.option(
    "--verify", "only_verify", is_flag=True, help="Admit nothing; check the admission records, signatures and raw files of TARGET."
)
@click.option("--include-drained", is_flag=True, help="Also nodes that a person drained.")
@inventory_option
@limit_option
@output_option
@click.pass_context
def command(
    ctx: click.Context,
    target: str,
    *,
    level: Level,
    only_verify: bool,
    include_drained: bool,
    inventory: tuple[str, ...],
    limit: str | None,
    output: str,
) -> int:
    """Admit the nodes of TARGET that have complete, passing, current evidence; show what the others lack.

    No node is contacted. `clusterctl provision` gathers evidence and admits by itself.
    """
    from clusterctl.adapters.inventory.load import load_nodes  # noqa: PLC0415
    from clusterctl.adapters.pools.loader import load_pool  # noqa: PLC0415
    from clusterctl.adapters.signing import signer  # noqa: PLC0415
    from clusterctl.adapters.store import Store  # noqa: PLC0415
    from clusterctl.adapters.versions import versions  # noqa: PLC0415
    from clusterctl.terminal import admissions as view  # noqa: PLC0415
    from clusterctl.workflows.admit import Admitter, Candidate, admit_on_stored_evidence  # noqa: PLC0415 `--help` must not pay for it
    from clusterctl.workflows.burnin.measure_and_judge import subjects_of  # noqa: PLC0415

    config = load_config(ctx, inventory, gates=True)
    if only_verify:
        return _verify(config, target, limit, output)
    nodes = load_nodes(config.inventory, target, limit=limit)
    candidates = [Candidate(s.node, s.profile.levels[level], s.profile.baselines) for s in subjects_of(nodes)]
    with Store.open(config.store_url) as store:
        store.register(nodes)
        admitter = Admitter(store, load_pool(config.pool, store), config.operator, versions(), signer(config.signing_key))
        admissions = admit_on_stored_evidence(admitter, candidates, include_owned=include_drained)
    return view.show_admissions(admissions, output)


def _verify(config: Config, target: str, limit: str | None, output: str) -> int:
    from clusterctl.adapters.store import Store  # noqa: PLC0415
    from clusterctl.adapters.store.match import match  # noqa: PLC0415
    from clusterctl.terminal import admissions as view  # noqa: PLC0415
    from clusterctl.workflows.verify_records import verify_admissions  # noqa: PLC0415

    with Store.open(config.store_url) as store:
        found = match(store.nodes(), target)
        names = [n.name for n in (match(found, limit) if limit else found)]
        return view.show_verified(verify_admissions(store, names, config.state_dir, config.allowed_signers), output)
