"""The NVLink fabric, brought up by the fabric manager of the board or by the switch trays of the rack."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from . import machine, state

if TYPE_CHECKING:
    from .state import Faults


def gpu_joined(index: int, faults: Faults) -> bool:
    """Whether the GPU `index` has joined the fabric."""
    joined = bool(state.driver_version()) if machine.THIS.rack_nvlink else bool(state.flag("fabric"))
    return joined and not faults.of("fabric_stuck", str(index))


def cluster_uuid(node: str) -> str:
    """The cluster UUID of a node, derived from the rack in its name, so that all nodes of a rack have the same."""
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{node.partition('-')[0]}.clusterctl-lab.invalid"))
