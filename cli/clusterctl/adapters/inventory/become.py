"""The passwords for sudo on some nodes: requested only just before these nodes are contacted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.adapters.ansible.content import content_dir
from clusterctl.adapters.inventory.layers import check_layers
from clusterctl.adapters.inventory.wire import Operation, WorkerRequest
from clusterctl.adapters.inventory.worker import query_worker
from clusterctl.model.become import BecomePassword

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

# each name of a pattern costs a search
_NAMED_AT_MOST = 64


def load_become(layers: Sequence[Path], nodes: Sequence[str], *, vault_ids: Sequence[str] = ()) -> dict[str, BecomePassword]:
    """The password of each of `nodes`; one that cannot be read has the reason in `problem`.

    Raises:
        UnknownTargetError: a node is not in the inventory.
        ConfigError: a layer cannot be used.
    """
    request = WorkerRequest(
        operation=Operation.BECOME,
        layers=check_layers(layers),
        content=str(content_dir().resolve()),
        target=",".join(nodes) if len(nodes) <= _NAMED_AT_MOST else "all",
        vault_ids=tuple(vault_ids),
    )
    wanted = frozenset(nodes)
    return {entry["node"]: BecomePassword(**entry) for entry in query_worker(request)["become"] if entry["node"] in wanted}
