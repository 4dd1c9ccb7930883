"""Counts capacity from the record: which nodes run jobs is known to the scheduler only. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.model.capacity import Capacity
from clusterctl.model.state import State

if TYPE_CHECKING:
    from clusterctl.model.overview import Overview
    from clusterctl.model.records import NodeRecord


def capacity_of(overview: Overview) -> Capacity:
    """The capacity of the nodes of an overview."""
    here = [n for n in overview.nodes if n.state is not State.RETIRED]
    healthy = [n for n in here if is_healthy(n, overview)]
    reserved = [n for n in here if n.owner or n.name in overview.held]
    return Capacity(len(here), len(healthy), len(reserved), None)


def is_healthy(node: NodeRecord, overview: Overview) -> bool:
    """Admitted, and it answered when last validated."""
    return node.state is State.ADMITTED and node.name not in overview.unanswered
