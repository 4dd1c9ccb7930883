"""What perftest prints of the latency between two adapters of a rack, with the changes of a fault."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.latency import latency_output

if TYPE_CHECKING:
    from clusterctl.core.gates.planning.step import GateStep
    from faults.world import Rack

# OCI's GB300 read 2.8 us inside a block. Assumed: two switches more and their cables add 0.6 us, and a collision takes up to three times as long.
_IN_LEAF_US, _ACROSS_US = 2.8, 3.4
_COLLIDED = (1.1, 3.0)


def small_messages(rack: Rack, node: str, step: GateStep) -> str:
    """The output of one side of one direction between two adapters; each of both ends adds what a change of it makes slower."""
    ends = sorted((node, step.peer))
    meeting = (step.gate, *ends, step.device, step.name.partition(".turn")[0])
    us = _IN_LEAF_US if rack.kind.leaf_of(node) == rack.kind.leaf_of(step.peer) else _ACROSS_US
    us *= rack.spread(rack.noise.perftest, *meeting, step.name.rpartition(".")[0])
    if rack.random("collision", *meeting).random() < rack.noise.collisions:
        us *= rack.random("depth", *meeting).uniform(*_COLLIDED)
    for change in (c for name in ends for c in rack.of("latency", name) if c.hca in ("", step.device)):
        us *= change.factor
    return latency_output(us, device=step.device)
