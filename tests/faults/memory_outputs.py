"""What stressapptest finds in the memory of a node, with the changes of a fault."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl_tools.host_memory import ENDED_BADLY
from support.host_memory import node_memory_output

if TYPE_CHECKING:
    from faults.world import Rack


def words(rack: Rack, node: str) -> tuple[str, int]:
    """The output of host_memory.py, and its exit status. A change has the number of words that were read otherwise than written by `value`."""
    incidents = sum(int(c.value) for c in rack.of("host_memory", node))
    return node_memory_output(incidents=incidents), ENDED_BADLY if incidents else 0
