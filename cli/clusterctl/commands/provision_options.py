"""The options of `clusterctl provision`; those that Ansible has too are spelt as Ansible spells them."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import rich_click as click

from clusterctl.commands.options import extra_vars_option, inventory_option, limit_option, output_option, vault_option

if TYPE_CHECKING:
    from collections.abc import Callable

_OWN = (
    click.argument("target", required=False, default=""),
    click.argument("ansible_args", nargs=-1, type=click.UNPROCESSED, metavar="[-- ANSIBLE ARGS]"),
    click.option(
        "--level", type=click.Choice(["quick", "standard", "full"]), default="quick", show_default=True, help="Depth of the burn-in."
    ),
    click.option("-t", "--tags", "--roles", "roles", metavar="ROLE,...", default="", help="Apply only these roles."),
    click.option("--all-roles", is_flag=True, help="Apply every role, even where all checks pass."),
    click.option("--retest", is_flag=True, help="Take quarantined nodes through again though nothing changed."),
    click.option("--partners", metavar="NODE,...", default="", help="Admitted nodes to measure against; they are not changed."),
    click.option("--no-reboot", is_flag=True, help="Reboot nothing; nodes that need it are quarantined."),
    click.option("--resume", metavar="RUN", default="", help="Go on with a run that was interrupted or killed."),
    click.option("-C", "--check", is_flag=True, help="Show the plan only; exit 8 if there is something to do."),
    click.option("-D", "--diff", is_flag=True, help="Keep the differences of changed files in the record."),
    click.option("-v", "--verbose", count=True, help="Show Ansible's own output; -vvv for more."),
    click.option("-f", "--forks", type=click.IntRange(1), default=25, show_default=True, help="Nodes changed at the same time."),
    click.option("--vault-password-file", metavar="FILE", help="As Ansible's own."),
    click.option("-y", "--yes", is_flag=True, envvar="CLUSTERCTL_YES", help="Do not ask.  [env: CLUSTERCTL_YES]"),
)


def provision_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """All of them."""
    shared = (inventory_option, limit_option, extra_vars_option, vault_option, output_option)
    return reduce(lambda f, option: option(f), reversed((*_OWN, *shared)), function)
