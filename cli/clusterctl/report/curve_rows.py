"""Curves -> what the page draws, and the same in words. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from clusterctl.core import timestamps
from clusterctl.model.running_text import counted
from clusterctl.report.series_drawing import LARGE, drawing
from clusterctl_validators.finding import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from clusterctl.model.measured_curve import NodeCurve
    from clusterctl.model.measurement_series import FleetDay, MeasuredPoint

# From here on digits after the point are noise.
_LARGE_VALUE = 1000


class CurveWords(NamedTuple):
    """A curve without its picture, as a row of a table has it."""

    node: str
    what: str
    limit: str
    newest: str
    fleet: str
    values: str
    simulated: bool


@dataclass(frozen=True, slots=True)
class CurveData:
    """A curve; numbers are indices into the texts of the page, but for `height`, the height of the limit.

    Attributes:
        what, limit, summary: its name, its limit, and all of it as text for screen readers.
        top, bottom: the ends of the scale.
        line, bands, medians: points of shapes.
        rows: (when, value, outcome, what the fleet read).
        marks: of each row: 0 good, 1 to look at; 2 more where a part was replaced since.
        simulated: 0 or 1.
    """

    what: int
    limit: int
    summary: int
    top: int
    bottom: int
    height: float | None
    line: str
    bands: tuple[str, ...]
    medians: tuple[str, ...]
    rows: tuple[tuple[int, int, int, int], ...]
    marks: tuple[int, ...]
    simulated: int


def curve_data(curve: NodeCurve, place: Callable[[str], int]) -> CurveData:
    """A curve, with its texts put into their places."""
    points = curve.series.points
    drawn = drawing(curve.series, LARGE, curve.limit)
    words = curve_words(curve)
    return CurveData(
        what=place(words.what),
        limit=place(words.limit),
        summary=place("; ".join(filter(None, (words.what, words.newest, words.limit, words.fleet and f"fleet {words.fleet}")))),
        top=place(number_text(drawn.high)),
        bottom=place(number_text(drawn.low)),
        height=drawn.limit,
        line=drawn.line,
        bands=drawn.bands,
        medians=drawn.medians,
        rows=tuple(
            (place(timestamps.short(p.at)), place(number_text(p.value)), place(_judged(p, earlier=earlier)), place(beside_text(p, day)))
            for p, day, earlier in zip(points, curve.series.fleet, curve.earlier_part, strict=True)
        ),
        marks=tuple((p.outcome is not Outcome.PASS) + 2 * earlier for p, earlier in zip(points, curve.earlier_part, strict=True)),
        simulated=int(any(p.simulated for p in points)),
    )


def curve_words(curve: NodeCurve) -> CurveWords:
    """A curve as text."""
    series = curve.series
    size = f"{series.size_bytes} B" if series.size_bytes else ""
    limit = "" if curve.limit is None else f"{'upper limit' if curve.is_upper else 'floor'} {number_text(curve.limit)} {series.unit}"
    newest = series.points[-1]
    runs = counted(len(series.points), "run")
    return CurveWords(
        curve.node,
        " ".join(filter(None, (series.gate, series.op, series.metric, size, series.device, series.tool_version))),
        limit.rstrip(),
        f"{number_text(newest.value)} {series.unit}, {outcome_text(newest.outcome)}, newest of {runs}",
        beside_text(newest, series.fleet[-1]),
        ", ".join(_values(series.points)),
        any(p.simulated for p in series.points),
    )


def number_text(value: float) -> str:
    """Four digits, or all before the point."""
    return f"{value:.0f}" if abs(value) >= _LARGE_VALUE else f"{value:.4g}"


def outcome_text(outcome: Outcome) -> str:
    """As a row of results has it."""
    return outcome.value.replace("_", " ")


def _judged(point: MeasuredPoint, *, earlier: bool) -> str:
    return f"{outcome_text(point.outcome)}, part replaced since" if earlier else outcome_text(point.outcome)


def _values(points: Iterable[MeasuredPoint]) -> Iterator[str]:
    for point in points:
        yield number_text(point.value) + ("" if point.outcome is Outcome.PASS else f" ({outcome_text(point.outcome)})")


def beside_text(point: MeasuredPoint, day: FleetDay | None) -> str:
    """`392 (388 to 395), 72 nodes`, with the day where it is not that of the value."""
    if day is None:
        return ""
    of_day = "" if day.day == point.at[:10] else f" on {day.day}"
    return f"{number_text(day.median)} ({number_text(day.low)} to {number_text(day.high)}), {counted(day.nodes, 'node')}{of_day}"
