"""The NVLink fabric, brought up by the fabric manager of the board or by the switch trays of the rack, some time after the boot."""

from __future__ import annotations

import os
import time
import uuid
from typing import TYPE_CHECKING

from . import machine, state

if TYPE_CHECKING:
    from .state import Faults

# Scaled: real ones take up to minutes, and no measurement is public. NVLinks were down after each of 214 planned reboots (NVIDIA/NVSentinel issue 1701).
_TRAINED_S = 3.0
_JOINED_S = 6.0


def links_trained(faults: Faults) -> bool:
    """Whether the NVLinks are active, which does not prove that the fabric is."""
    return _age_s("boot_id") >= max(_TRAINED_S, _slow_s(faults) / 2)


def gpu_joined(index: int, faults: Faults) -> bool:
    """Whether the GPU `index` has joined the fabric."""
    if faults.of("fabric_stuck", str(index)) or not state.driver_version() or _age_s("boot_id") < max(_JOINED_S, _slow_s(faults)):
        return False
    return machine.THIS.rack_nvlink or (bool(state.flag("fabric")) and _age_s("fabric") >= _slow_s(faults))


def cluster_uuid(node: str) -> str:
    """The cluster UUID of a node, derived from the rack in its name, so that all nodes of a rack have the same."""
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{node.partition('-')[0]}.clusterctl-lab.invalid"))


def _slow_s(faults: Faults) -> float:
    return max((float(f.option) for f in faults.of("fabric_slow")), default=0.0)


def _age_s(flag: str) -> float:
    """Seconds since a flag of this boot was set; a machine without it never was without its links."""
    try:
        return time.time() - os.stat(f"{state.RUN}/{flag}").st_mtime
    except FileNotFoundError:
        return float("inf")
