"""A small line of values, as the points of an SVG. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterctl.model.measurement_series import MeasurementSeries

WIDTH, HEIGHT = 96, 24
_EDGE = 3


def sparkline(series: MeasurementSeries) -> tuple[str, float | None]:
    """(points of a polyline, height of the floor or None), in a box of `WIDTH` x `HEIGHT`; floor and values share one scale."""
    values = [p.value for p in series.points]
    values = values * 2 if len(values) == 1 else values  # a line of one point would not be seen
    limits = [] if series.limit is None else [series.limit]
    low, high = min(values + limits), max(values + limits)
    span = (high - low) or 1.0
    step = (WIDTH - 2 * _EDGE) / max(len(values) - 1, 1)

    def height(value: float) -> float:
        return round(HEIGHT - _EDGE - (value - low) / span * (HEIGHT - 2 * _EDGE), 1)

    points = " ".join(f"{round(_EDGE + i * step, 1)},{height(v)}" for i, v in enumerate(values))
    return points, height(limits[0]) if limits else None
