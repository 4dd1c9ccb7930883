"""What the nodes of a rack print that use a file system together, or train together, with the changes of a fault."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterctl_lab.simulator import machine
from support.shared_storage import PHASES, storage_output
from support.training import training_output

if TYPE_CHECKING:
    from clusterctl.core.gates.planning.step import GateStep
    from faults.world import Rack

# What a healthy rank computes for in a step, and by how much good ones differ (noise of matrix multiplication).
_COMPUTE_US = 20000
_TIMES = ("duration_s", "create_s", "stat_s", "remove_s")
_WRONG_FIRST = [[0, 3], [1, 7]]
# A digest that no healthy rank has.
_OTHER = "d"


def storage(rack: Rack, node: str, step: GateStep) -> str:
    """One node of a group on a file system that they share. A change has what is left of its rate, or how many blocks are read otherwise than written."""
    changes = rack.of("storage", node)
    factor = min([1.0, *(c.factor for c in changes)])
    phases: dict[str, Any] = {}
    for name, values in PHASES.items():
        left = factor * rack.spread(rack.noise.disks, node, name)
        phases[name] = {key: values[key] / left for key in _TIMES if key in values}
    wrong = sum(int(c.value or 0) for c in changes)
    if wrong:
        phases["read"] |= {"wrong": wrong, "wrong_first": _WRONG_FIRST[:wrong]}
    return storage_output(_number(step, "--index"), _number(step, "--count"), phases)


def training(rack: Rack, node: str, step: GateStep) -> str:
    """The ranks of one node. A change has by how much one computes longer (`factor` of the rate), or that its weights differ (`value`: weights)."""
    ranks: dict[str, Any] = {}
    for gpu in range(machine.GPUS):
        changes = [c for c in rack.of("training", node) if c.gpu == gpu]
        left = min([1.0, *(c.factor for c in changes)]) * rack.spread(rack.noise.gemm, node, gpu, step.name)
        own: dict[str, Any] = {"compute": round(_COMPUTE_US / left)}
        if any(c.value == "weights" for c in changes):
            own["weights"] = _OTHER
        ranks |= {f"{run}{gpu}": own for run in ("whole", "resumed")}
    return training_output(_number(step, "--index"), _number(step, "--nodes"), ranks, gpus=machine.GPUS)


def _number(step: GateStep, option: str) -> int:
    return int(step.argv[step.argv.index(option) + 1])
