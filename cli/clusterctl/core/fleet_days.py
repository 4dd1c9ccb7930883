"""Values of a fleet -> what most of its nodes read on each day. Pure."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from itertools import groupby
from statistics import quantiles
from typing import TYPE_CHECKING, NamedTuple

from clusterctl.model.gate_result import Figure
from clusterctl.model.measured_curve import FleetKey
from clusterctl.model.measurement_series import FleetDay

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from clusterctl.model.measurement_series import MeasurementSeries

# Of fewer nodes 5 % are none, and one of them moves the median.
LEAST_NODES = 5
# Twentieths: the first, the middle and the last cut.
_PARTS, _LOW, _MIDDLE, _HIGH = 20, 0, 9, 18


class FleetValue(NamedTuple):
    """The values of a device, or of a node, in a run; `is_upper`: the higher one is the worse."""

    key: FleetKey
    day: str
    run_id: str
    node: str
    lowest: float
    highest: float
    is_upper: bool


def fleet_days(values: Iterable[FleetValue]) -> dict[FleetKey, tuple[FleetDay, ...]]:
    """The days of each key. `values` are sorted by key, day, run and node, so that those of one day are held at a time."""
    found: dict[FleetKey, list[FleetDay]] = {}
    for (key, day), group in groupby(values, key=lambda v: (v.key, v.day)):
        nodes, last, lowest, highest, is_upper = 0, ("", ""), [], [], False
        for one in group:
            nodes += (one.run_id, one.node) != last
            last = (one.run_id, one.node)
            lowest.append(one.lowest)
            highest.append(one.highest)
            is_upper = is_upper or one.is_upper
        if nodes >= LEAST_NODES:
            found.setdefault(key, []).append(_day(day, nodes, highest if is_upper else lowest))
    return {key: tuple(days) for key, days in found.items()}


def beside_fleet(series: MeasurementSeries, profile: str, fleet: Mapping[FleetKey, Sequence[FleetDay]]) -> MeasurementSeries:
    """A series of a node with that profile, with what equal nodes read."""
    days = fleet.get(FleetKey(figure_of(series), series.tool_version, profile, series.points[-1].simulated), ())
    return replace(series, fleet=tuple(_until(days, p.at[:10]) for p in series.points))


def figure_of(series: MeasurementSeries) -> Figure:
    """What it is a series of."""
    return Figure(series.gate, series.metric, series.unit, series.op, series.size_bytes or 0)


def _until(days: Sequence[FleetDay], day: str) -> FleetDay | None:
    """The newest that is not after a day: a node that is measured alone after its repair is compared with what the others read last."""
    place = bisect_right(days, day, key=lambda d: d.day)
    return days[place - 1] if place else None


def _day(day: str, nodes: int, values: Sequence[float]) -> FleetDay:
    cuts = quantiles(values, n=_PARTS, method="inclusive")
    return FleetDay(day, nodes, cuts[_LOW], cuts[_MIDDLE], cuts[_HIGH])
