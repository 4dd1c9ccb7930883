"""Counts capacity from the record, and from what the pool reports. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.model.capacity import Capacity, GpuCapacity
from clusterctl.model.state import State

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from clusterctl.model.overview import Overview
    from clusterctl.model.recorded_hardware import RecordedHardware
    from clusterctl.model.records import NodeRecord


def capacity_of(overview: Overview) -> Capacity:
    """The capacity of the nodes of an overview, in nodes."""
    return Capacity(*_sums(overview, lambda _name: 1))


def gpu_capacity_of(overview: Overview, hardware: Mapping[str, RecordedHardware]) -> GpuCapacity:
    """The same in GPUs."""
    uncounted = sum(n.name not in hardware for n in _delivered(overview))
    return GpuCapacity(*_sums(overview, lambda name: hardware[name].gpus if name in hardware else 0), uncounted)


def is_healthy(node: NodeRecord, overview: Overview) -> bool:
    """Admitted, and it answered when last validated."""
    return node.state is State.ADMITTED and node.name not in overview.unanswered


def _sums(overview: Overview, count: Callable[[str], int]) -> tuple[int, int, int | None, int | None, int]:
    here, busy = _delivered(overview), overview.busy
    return (
        sum(count(n.name) for n in here),
        sum(count(n.name) for n in here if is_healthy(n, overview)),
        None,
        None if busy is None else sum(count(n.name) for n in here if n.name in busy),
        sum(count(n.name) for n in here if n.owner or n.name in overview.held),
    )


def _delivered(overview: Overview) -> list[NodeRecord]:
    return [n for n in overview.nodes if n.state is not State.RETIRED]
