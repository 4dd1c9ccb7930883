"""How to reach the BMCs of some nodes, secrets included: read only just before a BMC is contacted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.adapters.ansible.content import content_dir
from clusterctl.adapters.bmc.access import BmcAccess
from clusterctl.adapters.inventory.layers import check_layers
from clusterctl.adapters.inventory.wire import Operation, WorkerRequest
from clusterctl.adapters.inventory.worker import query_worker

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def load_bmcs(layers: Sequence[Path], nodes: Sequence[str], *, vault_ids: Sequence[str] = ()) -> dict[str, BmcAccess]:
    """The access to the BMC of each of `nodes`; one that cannot be queried has the reason in `problem`.

    Raises:
        UnknownTargetError: a node is not in the inventory.
        ConfigError: a layer cannot be used.
    """
    request = WorkerRequest(
        operation=Operation.BMCS,
        layers=check_layers(layers),
        content=str(content_dir().resolve()),
        target=",".join(nodes),
        vault_ids=tuple(vault_ids),
    )
    return {entry["node"]: BmcAccess(**entry) for entry in query_worker(request)["bmcs"]}
