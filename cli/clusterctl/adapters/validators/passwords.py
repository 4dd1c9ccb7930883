"""The passwords that the nodes' sudo asks for, read from the inventory only where one is declared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.adapters.validators.over_bmc import vault_ids
from clusterctl.model.become import BecomePassword

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from clusterctl.model.node import Node


def passwords(nodes: Sequence[Node], inventory: Sequence[Path], ansible_args: Sequence[str]) -> Mapping[str, BecomePassword]:
    """Node -> its password, or why it cannot be had; a node that is not in here needs none.

    Raises:
        ClusterctlError: the inventory cannot be read.
    """
    wanted = [n.name for n in nodes if n.connection.by_sudo and n.connection.become_password]
    if not wanted:
        return {}
    if not inventory:
        return {name: BecomePassword(name, problem="ansible_become_password is set in no inventory that is at hand") for name in wanted}
    from clusterctl.adapters.inventory.become import load_become  # noqa: PLC0415 only where sudo asks

    return load_become(inventory, wanted, vault_ids=vault_ids(ansible_args))
