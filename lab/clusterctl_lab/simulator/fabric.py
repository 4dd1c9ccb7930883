"""The NVLink fabric as a GPU of this machine sees it: brought up by the fabric manager of the board, or by the switch trays of the rack."""

from __future__ import annotations

import os
import uuid
from typing import TYPE_CHECKING

from . import machine, state

if TYPE_CHECKING:
    from .smi_tree import Tree
    from .state import Faults

_NO_DOMAIN = "00000000-0000-0000-0000-000000000000"
# The default partition of a rack (NVIDIA/k8s-test-infra, qx-gb300.xml).
_RACK_CLIQUE = "32766"


def up(index: int, faults: Faults) -> bool:
    """Whether the GPU `index` has joined the fabric."""
    joined = bool(state.driver_version()) if machine.THIS.rack_nvlink else bool(state.flag("fabric"))
    return joined and not faults.of("fabric_stuck", str(index))


def cluster_uuid(node: str) -> str:
    """The same for all nodes of a rack, by the rack's name in theirs."""
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{node.partition('-')[0]}.clusterctl-lab.invalid"))


def tree(joined: bool) -> Tree:
    """The part `fabric` of `nvidia-smi -q -x`; the switches of a board form no domain."""
    told = machine.THIS.fabric_told
    if not told:
        return {"state": "N/A", "status": "N/A", "cliqueId": "N/A", "clusterUuid": "N/A", "health": {"summary": "N/A"}}
    result: Tree = {"state": "Completed" if joined else "In Progress", "status": "Success" if joined else "N/A"}
    if not machine.THIS.rack_nvlink:
        summary = "Healthy" if told == "health" and joined else "N/A"
        return result | {"cliqueId": "0", "clusterUuid": _NO_DOMAIN, "health": {"summary": summary}}
    if not joined:
        return result | {"cliqueId": "N/A", "clusterUuid": "N/A", "health": {"summary": "N/A"}}
    signs = {"bandwidth": "Full", "route_recovery_in_progress": "False", "route_unhealthy": "False", "access_timeout_recovery": "False"}
    health: Tree = {"summary": "Healthy", **signs, "incorrect_configuration": "None"}
    return result | {"cliqueId": _RACK_CLIQUE, "clusterUuid": cluster_uuid(os.uname().nodename), "health": health}
