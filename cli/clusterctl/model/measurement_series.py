"""What a device of a node measured over time."""

from __future__ import annotations

from dataclasses import dataclass

from clusterctl.model.gate_result import Outcome  # noqa: TC001 pydantic reads the annotations


@dataclass(frozen=True, slots=True)
class MeasuredPoint:
    """One value; `at` is when its run started, `outcome` how it was judged then, `simulated`: it comes from a lab, not from hardware."""

    run_id: str
    at: str
    value: float
    outcome: Outcome
    simulated: bool


@dataclass(frozen=True, slots=True)
class FleetDay:
    """Values of many nodes on one day: of the lowest 5 %, in the middle, and of the highest 5 % at least and at most.

    Attributes:
        day: of UTC, when their runs started.
        nodes: how many measurements of nodes it rests on; a node that was measured in two runs of the day counts twice.
    """

    day: str
    nodes: int
    low: float
    median: float
    high: float


@dataclass(frozen=True, slots=True)
class MeasurementSeries:
    """Values of one figure of one device, oldest first, which can be compared with each other.

    Attributes:
        device: of a pair; empty where the value is of the whole node, or the worst of its devices.
        op, size_bytes: operation and message size; empty and null where the figure has none.
        tool_version: of the tool that measured it; empty where it is not known.
        limit: the floor of the newest value, in `unit`; null where it has none.
        fleet: of each value, what nodes with the same profile read on that day or the last one before; null where too few were measured until then.
    """

    gate: str
    metric: str
    device: str
    unit: str
    op: str
    size_bytes: int | None
    tool_version: str
    limit: float | None
    points: tuple[MeasuredPoint, ...]
    fleet: tuple[FleetDay | None, ...] = ()
