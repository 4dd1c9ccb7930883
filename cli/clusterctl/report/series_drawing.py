"""Values over time as the shapes of an SVG, for the report and the web view. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from clusterctl.model.measurement_series import FleetDay, MeasurementSeries

_Point = tuple[float, float]
_Beside = tuple[float, "FleetDay"]


@dataclass(frozen=True, slots=True)
class Box:
    """Where it is drawn, with an edge that stays free for the width of lines and marks."""

    width: int
    height: int
    edge: int


SMALL, LARGE = Box(96, 24, 3), Box(360, 140, 8)


@dataclass(frozen=True, slots=True)
class Drawing:
    """Shapes in a box, all on one scale.

    Attributes:
        line: points of the values, one for each.
        limit: height of the limit; None where it has none.
        bands: polygons of the fleet, one for each stretch of time in which it was measured.
        medians: lines of its middle, as many.
        low, high: the ends of the scale.
    """

    line: str
    limit: float | None
    bands: tuple[str, ...]
    medians: tuple[str, ...]
    low: float
    high: float


def drawing(series: MeasurementSeries, box: Box, limit: float | None) -> Drawing:
    """The values of a series from left to right, one step for each run, with what the fleet read at each of them."""
    values = [p.value for p in series.points]
    days = [d for d in series.fleet if d]
    shown = [*values, *(() if limit is None else (limit,)), *(d.low for d in days), *(d.high for d in days)]
    low, high = min(shown), max(shown)
    span: float = (high - low) or 1.0
    width, tall = box.width - 2 * box.edge, box.height - 2 * box.edge
    step = width / max(len(values) - 1, 1)

    def across(place: int) -> float:
        return round(box.edge + place * step, 1)

    def up(value: float) -> float:
        share: float = (value - low) / span
        return round(box.height - box.edge - share * tall, 1)

    stretches = tuple(_stretches([(across(i), d) if d else None for i, d in enumerate(series.fleet)], box.edge))
    return Drawing(
        _points([(across(i), up(v)) for i, v in enumerate(values)]),
        None if limit is None else up(limit),
        tuple(_points(_around(s, up)) for s in stretches),
        tuple(_points([(x, up(d.median)) for x, d in s]) for s in stretches),
        low,
        high,
    )


def sparkline(series: MeasurementSeries) -> Drawing:
    """The small one of a row of a table; a single value is a line, as its point would not be seen."""
    twice = replace(series, points=series.points * 2, fleet=series.fleet * 2) if len(series.points) == 1 else series
    return drawing(twice, SMALL, series.limit)


def _stretches(beside: Sequence[_Beside | None], edge: int) -> Iterator[list[_Beside]]:
    """Neighbours that are there; one alone gets a width, so that it is seen."""
    for there, group in groupby(beside, key=bool):
        found = [one for one in group if one]
        if there and len(found) == 1:
            (x, day) = found[0]
            yield [(x - edge, day), (x + edge, day)]
        elif there:
            yield found


def _around(stretch: Sequence[_Beside], up: Callable[[float], float]) -> list[_Point]:
    return [*((x, up(d.high)) for x, d in stretch), *((x, up(d.low)) for x, d in reversed(stretch))]


def _points(points: Sequence[_Point]) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in points)
