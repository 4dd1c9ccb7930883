"""The passwords for sudo on the nodes, read from the inventory only where one is declared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.model.become import BecomePassword

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from clusterctl.model.node import Node


def passwords(nodes: Sequence[Node], inventory: Sequence[Path]) -> Mapping[str, BecomePassword]:
    """Node -> its password, or the reason why it is not available; a node that is not a key needs none.

    Raises:
        ClusterctlError: the inventory cannot be read.
    """
    names = [n.name for n in nodes if n.connection.by_sudo and n.connection.become_password]
    if not names:
        return {}
    if not inventory:
        return {name: BecomePassword(name, problem="ansible_become_password is declared, but no inventory is given") for name in names}
    from clusterctl.adapters.inventory.become import load_become  # noqa: PLC0415 only where a password is declared

    return load_become(inventory, names)
