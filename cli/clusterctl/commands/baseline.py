"""`clusterctl baseline`: the floors in force, beside what nodes measured, and what they could be."""

from __future__ import annotations

import rich_click as click

from clusterctl.commands.options import inventory_option, limit_option, load_config, output_option, target_argument, vault_option

Words = tuple[str, ...]


@click.group("baseline")
def command() -> None:
    """Show floors beside what nodes measured, and learn floors from it."""


@command.command("show")
@target_argument
@inventory_option
@limit_option
@vault_option
@output_option
@click.pass_context
def show_in_force(ctx: click.Context, *, target: str, inventory: Words, limit: str | None, vault_ids: Words, output: str) -> None:
    """Show the baselines of TARGET's profiles: value, source, age, and on how many measurements each rests."""
    from clusterctl.adapters.inventory.load import load_nodes  # noqa: PLC0415
    from clusterctl.terminal import baselines as view  # noqa: PLC0415 `--help` must not pay for it
    from clusterctl.workflows.learn_baselines import declared_baselines  # noqa: PLC0415

    config = load_config(ctx, inventory, gates=True)
    view.in_force(output, declared_baselines(load_nodes(config.inventory, target, limit=limit, vault_ids=vault_ids)))


@command.command()
@target_argument
@inventory_option
@limit_option
@vault_option
@output_option
@click.pass_context
def diff(ctx: click.Context, *, target: str, inventory: Words, limit: str | None, vault_ids: Words, output: str) -> None:
    """Compare the floors of TARGET's profiles with what its nodes measured."""
    from clusterctl.adapters.inventory.load import load_nodes  # noqa: PLC0415
    from clusterctl.terminal import baselines as view  # noqa: PLC0415 `--help` must not pay for it
    from clusterctl.workflows.learn_baselines import learn_baselines  # noqa: PLC0415

    config = load_config(ctx, inventory, gates=True)
    view.measured(output, learn_baselines(config, load_nodes(config.inventory, target, limit=limit, vault_ids=vault_ids)))


@command.command()
@target_argument
@inventory_option
@limit_option
@vault_option
@click.pass_context
def learn(ctx: click.Context, *, target: str, inventory: Words, limit: str | None, vault_ids: Words) -> None:
    """Print limits that the measurements of TARGET's nodes support, and what they read, as YAML for `gates_baselines_site`. Changes nothing.

    A class has at least 20 nodes that pass its gate, of one GPU model, line rate and version of the tool. A floor is never below the one in force nor
    above the line rate; a figure that has none gets its first one. A class that is two is refused, and both clusters are shown.
    """
    from clusterctl.adapters.inventory.load import load_nodes  # noqa: PLC0415
    from clusterctl.terminal import baselines as view  # noqa: PLC0415 `--help` must not pay for it
    from clusterctl.workflows.learn_baselines import learn_baselines  # noqa: PLC0415

    config = load_config(ctx, inventory, gates=True)
    view.proposals(learn_baselines(config, load_nodes(config.inventory, target, limit=limit, vault_ids=vault_ids)))
