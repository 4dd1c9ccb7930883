"""Options that several verbs share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import rich_click as click

from clusterctl.adapters import config as config_module
from clusterctl.commands import complete
from clusterctl.terminal.out import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")


def inventory_option(function: F) -> F:
    """`-i`, repeatable, as Ansible's own."""
    return click.option(
        "-i",
        "--inventory",
        multiple=True,
        metavar="PATH",
        help="Inventory layer; repeat, common first.",
        shell_complete=complete.files,
    )(function)


def limit_option(function: F) -> F:
    """`--limit`, as Ansible's own."""
    return click.option(
        "-l", "--limit", metavar="PATTERN", help="Further limit TARGET to a host pattern.", shell_complete=complete.targets
    )(function)


def extra_vars_option(function: F) -> F:
    """`-e`, as Ansible's own."""
    text = "Variables over all others: NAME=VALUE, JSON or @FILE. Never secrets: they are recorded."
    return click.option("-e", "--extra-vars", multiple=True, metavar="VARS", help=text, shell_complete=complete.files_behind_at)(function)


def vault_option(function: F) -> F:
    """`--vault-id` and `--vault-password-file`, as Ansible's own: every Ansible of the command gets them."""
    text = "Vault password file; ANSIBLE_VAULT_PASSWORD_FILE works, too."
    by_file = click.option(
        "--vault-password-file",
        metavar="FILE",
        help="As Ansible's own.",
        expose_value=False,
        callback=_hand_on_file,
        shell_complete=complete.files,
    )
    by_id = click.option(
        "--vault-id",
        "vault_ids",
        multiple=True,
        metavar="[LABEL@]FILE",
        help=text,
        callback=_hand_on_ids,
        shell_complete=complete.files_behind_at,
    )
    return by_id(by_file(function))


def _hand_on_ids(_ctx: click.Context, _param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    from clusterctl.adapters.ansible.vault_passwords import hand_on_vault_ids  # noqa: PLC0415 verbs without Ansible must not pay for it

    hand_on_vault_ids(value)
    return value


def _hand_on_file(_ctx: click.Context, _param: click.Parameter, value: str) -> None:
    from clusterctl.adapters.ansible.vault_passwords import hand_on_vault_file  # noqa: PLC0415 as in `_hand_on_ids`

    hand_on_vault_file(value)


def output_option(function: F) -> F:
    """`-o table|json|yaml`."""
    return click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True, help="Format of the result.")(
        function
    )


target_argument = click.argument("target", shell_complete=complete.targets)


def load_config(ctx: click.Context, inventory: tuple[str, ...] = (), *, gates: bool) -> config_module.Config:
    """The site's configuration with the global options applied; with `gates`, the gates of the site are registered, too: each verb declares whether it reads them."""
    config = config_module.read_config(inventory=inventory, state_dir=(ctx.obj or {}).get("state_dir"))
    if gates:
        from clusterctl.adapters.site_gates import load_site_gates  # noqa: PLC0415 imports the gates, which most verbs do not read

        load_site_gates(config.gates, config.plugins)
    return config
