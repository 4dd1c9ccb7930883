"""What a node or one of its devices measured over time, beside the fleet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.model.own_history import VALUE_RULES

if TYPE_CHECKING:
    from clusterctl.model.gate_result import Figure
    from clusterctl.model.measurement_series import FleetDay, MeasurementSeries
    from clusterctl.model.own_history import PastResult
    from clusterctl.model.part import PartRow

# Where lower values are the better ones.
UPPER_RULES = ("upper_limit", "upper_peers")
# `shared`: what was measured behind a part that several devices share.
CURVE_RULES = (*VALUE_RULES, *UPPER_RULES, "shared")
# So many runs are drawn.
CURVE_RUNS = 20


@dataclass(frozen=True, slots=True)
class CurveKey:
    """Whose curve it is, and of what.

    Attributes:
        device: empty where the value is the worst of a node, whichever device it is of.
    """

    node: str
    device: str
    figure: Figure
    tool_version: str


@dataclass(frozen=True, slots=True)
class FleetKey:
    """Values with equal keys are compared: of nodes with one profile, by one version of the tool."""

    figure: Figure
    tool_version: str
    profile: str
    simulated: bool


@dataclass(frozen=True, slots=True)
class NodeCurve:
    """The values of a node or device beside the fleet.

    Attributes:
        limit: what the value to look at is compared with: a floor, or an upper limit where `is_upper`; None where it has none.
        earlier_part: for each point, whether a part was replaced since: it is of another device.
    """

    node: str
    series: MeasurementSeries
    limit: float | None
    is_upper: bool
    earlier_part: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Curves:
    """The curves of a run.

    Attributes:
        left_out: node -> how many of its measurements to look at have none: a page has room for so many.
    """

    drawn: tuple[NodeCurve, ...] = ()
    left_out: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class RecordedCurves:
    """What the record has for curves.

    Attributes:
        past: results of the nodes, oldest first.
        fleet: days of the fleet, oldest first.
        parts: of the nodes, those that were replaced too.
    """

    past: tuple[PastResult, ...]
    fleet: dict[FleetKey, tuple[FleetDay, ...]]
    parts: tuple[PartRow, ...] = ()
