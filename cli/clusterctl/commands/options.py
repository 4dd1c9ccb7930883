"""Options that several verbs share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import rich_click as click

from clusterctl import config as config_module
from clusterctl.render.out import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")


def inventory_option(function: F) -> F:
    """`-i`, repeatable, as Ansible's own."""
    return click.option("-i", "--inventory", multiple=True, metavar="PATH", help="Inventory layer; repeat, common first.")(function)


def limit_option(function: F) -> F:
    """`--limit`, as Ansible's own."""
    return click.option("-l", "--limit", metavar="PATTERN", help="Further limit TARGET to a host pattern.")(function)


def output_option(function: F) -> F:
    """`-o table|json|yaml`."""
    return click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True, help="Format of the result.")(
        function
    )


target_argument = click.argument("target")


def load_config(ctx: click.Context, inventory: tuple[str, ...] = ()) -> config_module.Config:
    """The site's configuration under the global options."""
    return config_module.load(inventory=inventory, state_dir=(ctx.obj or {}).get("state_dir"))
