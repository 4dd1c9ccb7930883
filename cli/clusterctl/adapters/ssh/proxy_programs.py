"""The programs that connections of the inventory go through (ProxyCommand)."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from clusterctl.adapters.ssh.ssh_args import parse_ssh_args
from clusterctl.model.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterctl.model.node import Connection


def proxy_programs(connections: Iterable[Connection]) -> tuple[str, ...]:
    """The first word of each ProxyCommand. Arguments that cannot be parsed name none: the connection itself reports them."""
    found = {word for args in {c.ssh_args for c in connections} if (word := _program(args))}
    return tuple(sorted(found))


def _program(args: tuple[str, ...]) -> str:
    try:
        command = parse_ssh_args(args).proxy_command
        return next(iter(shlex.split(command)), "")
    except (ConfigError, ValueError):
        return ""
