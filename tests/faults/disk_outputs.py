"""What fio reads from the disks of a node, with the changes of a fault."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.core.gates.planning.devices import nvme_disks_of
from clusterctl.core.gates.planning.step import AGAIN
from faults.world import nodes
from support.nvme import node_output

if TYPE_CHECKING:
    from clusterctl.core.gates.planning.step import GateStep
    from faults.world import Rack

_USUAL_GBPS = 6.8
_MEASUREMENTS = 3


def reads(rack: Rack, node: str, step: GateStep) -> str:
    """The output of nvme_read.py. A change names a disk by `path`, and by `value` the error with which fio ends."""
    count = nvme_disks_of(nodes(rack.kind)[0])
    missing = len(rack.of("disk", node))
    number = int(step.name.rpartition(".")[2]) if step.name.startswith(AGAIN) else 0
    changes = [c for c in rack.of("disk_read", node) if number < max(1, round(c.share * _MEASUREMENTS))]
    disks = {}
    for disk in range(count - missing):
        rate = _USUAL_GBPS * rack.spread(rack.noise.disks, "disk", node, disk, step.name)
        own = [c for c in changes if c.path == f"nvme{disk}n1"]
        for change in own:
            rate *= change.factor
        disks[disk] = {"gbps": rate, "fio_error": next((int(c.value) for c in own if c.value), 0)}
    return node_output(count - missing, disks)
