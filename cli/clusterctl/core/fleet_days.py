"""Values of a fleet -> what most of its nodes read on each day. Pure."""

from __future__ import annotations

from itertools import groupby
from statistics import quantiles
from typing import TYPE_CHECKING, NamedTuple

from clusterctl.model.measured_curve import FleetDay, FleetKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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


def _day(day: str, nodes: int, values: Sequence[float]) -> FleetDay:
    cuts = quantiles(values, n=_PARTS, method="inclusive")
    return FleetDay(day, nodes, cuts[_LOW], cuts[_MIDDLE], cuts[_HIGH])
