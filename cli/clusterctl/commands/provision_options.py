"""The options of `clusterctl provision`; those that Ansible also has are spelled as in Ansible."""

from __future__ import annotations

from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from clusterctl.commands import complete
from clusterctl.commands.names_type import names_option
from clusterctl.commands.option_types import SENTENCE
from clusterctl.commands.options import extra_vars_option, inventory_option, limit_option, output_option, vault_option

if TYPE_CHECKING:
    from collections.abc import Callable
_ARGS = "clusterctl.ansible_args"
_LEVELS = click.Choice(["quick", "standard", "full"])
PLAN_FILE = click.Path(dir_okay=False, path_type=Path)


class WithAnsibleArgs(click.RichCommand):
    """A command that passes the arguments after `--` to ansible-playbook."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Cut the command line at `--`."""
        at = args.index("--") if "--" in args else len(args)
        ctx.meta[_ARGS] = tuple(args[at + 1 :])
        return super().parse_args(ctx, args[:at])

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Show it in the usage line."""
        return [*super().collect_usage_pieces(ctx), "[-- ANSIBLE_ARGS]"]


def ansible_args(ctx: click.Context) -> tuple[str, ...]:
    """The arguments after `--`."""
    given: tuple[str, ...] = ctx.meta[_ARGS]
    return given


_OWN = (
    click.argument("target", required=False, default="", shell_complete=complete.targets),
    click.option("--level", type=_LEVELS, default="standard", show_default=True, help="Depth of the burn-in."),
    names_option("-t", "--tags", "--roles", "roles", metavar="ROLE,...", help="Apply only these roles.", shell_complete=complete.roles),
    click.option("--all-roles", is_flag=True, help="Apply every role, even where all checks pass."),
    click.option("--retest", is_flag=True, help="Try quarantined nodes again although nothing changed."),
    click.option("--include-drained", is_flag=True, help="Also nodes that a person drained or quarantined."),
    click.option("--force", is_flag=True, help="Past the circuit breaker, and with a --reason outside of the maintenance windows."),
    click.option("--reason", type=SENTENCE, metavar="TEXT", help="Why, for the record."),
    names_option("--partners", metavar="NODE,...", help="Admitted nodes to measure with; not changed.", shell_complete=complete.nodes),
    click.option("--no-reboot", is_flag=True, help="Do not reboot; nodes that need it are quarantined."),
    click.option("--resume", metavar="RUN", default="", help="Continue an interrupted or killed run.", shell_complete=complete.runs),
    click.option("--queue", is_flag=True, help="Leave it to workers (`clusterctl worker`), one rack each; needs the record in PostgreSQL."),
    click.option("--cancel", metavar="ORDER", default="", help="End the racks of an order of --queue that no worker has taken yet."),
    click.option("-C", "--check", is_flag=True, help="Show the plan only; exit 8 if something is to be done."),
    click.option("--plan", "plan_file", type=PLAN_FILE, metavar="FILE", help="Refuse if anything differs from this plan (`plan --out`)."),
    click.option("-D", "--diff", is_flag=True, help="Record the differences of changed files."),
    click.option("-v", "--verbose", count=True, help="Show Ansible's own output; -vvv for more."),
    click.option("-f", "--forks", type=click.IntRange(1, 1024), default=25, show_default=True, help="Nodes changed at the same time."),
    click.option("-y", "--yes", is_flag=True, envvar="CLUSTERCTL_YES", help="Do not prompt for confirmation.  [env: CLUSTERCTL_YES]"),
)


def provision_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """All of them."""
    shared = (inventory_option, limit_option, extra_vars_option, vault_option, output_option)
    return reduce(lambda f, option: option(f), reversed((*_OWN, *shared)), function)
