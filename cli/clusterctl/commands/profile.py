"""`clusterctl profile`: show and check the declared state of nodes."""

from __future__ import annotations

import rich_click as click

from clusterctl.adapters.inventory.groups import load_groups
from clusterctl.adapters.inventory.invalid import problems_of
from clusterctl.adapters.inventory.load import list_hosts
from clusterctl.commands import complete
from clusterctl.commands.options import extra_vars_option, inventory_option, limit_option, load_config, output_option, vault_option
from clusterctl.core.near_match import did_you_mean
from clusterctl.model.errors import SpecInvalidError, UsageProblemError
from clusterctl.terminal import profile as render

Words = tuple[str, ...]


@click.group("profile")
def command() -> None:
    """Show or check the declared state of nodes."""


@command.command("list")
@inventory_option
@output_option
@click.pass_context
def list_(ctx: click.Context, *, inventory: Words, output: str) -> None:
    """List the profiles and how many nodes are in each."""
    render.profiles(output, list_hosts(load_config(ctx, inventory, gates=False).inventory))


@command.command()
@click.argument("target", metavar="TARGET|PROFILE", shell_complete=complete.targets)
@click.option("--role", metavar="ROLE", shell_complete=complete.roles, help="Show the variables of this role only.")
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True, help="Format of the result.")
@inventory_option
@limit_option
@extra_vars_option
@vault_option
@click.pass_context
def show(
    ctx: click.Context,
    *,
    target: str,
    role: str | None,
    output: str,
    inventory: Words,
    limit: str | None,
    extra_vars: Words,
    vault_ids: Words,
) -> None:
    """Show each distinct resolved spec of TARGET with its digest; secrets are left out."""
    from clusterctl.workflows.check_declared_state import require_gates  # noqa: PLC0415 imports the gates

    config = load_config(ctx, inventory, gates=True)
    groups = require_gates(load_groups(config.inventory, target, limit=limit, extra_vars=extra_vars, vault_ids=vault_ids))
    if role is not None and role not in (known := {r for g in groups for r in g.spec.roles}):
        detail = f"{target} has no role {role!r}{did_you_mean(role, known)}"
        raise UsageProblemError(detail=detail, hint=f"its roles: {', '.join(sorted(known))}")
    render.specs(output, groups, role)


@command.command()
@click.argument("target", required=False, shell_complete=complete.targets)
@inventory_option
@extra_vars_option
@vault_option
@output_option
@click.pass_context
def check(ctx: click.Context, *, target: str | None, inventory: Words, extra_vars: Words, vault_ids: Words, output: str) -> None:
    """Check variables, gates and waivers of TARGET, or of all nodes and profiles; every problem at once."""
    from clusterctl.workflows.check_declared_state import check_declared_state  # noqa: PLC0415 no other verb of this group reads gates

    try:
        config = load_config(ctx, inventory, gates=True)
        render.checked(output, check_declared_state(config, target, extra_vars=extra_vars, vault_ids=vault_ids))
    except SpecInvalidError as e:
        render.show_problems(output, problems_of(e))
        raise
