"""How the values of a run are spread, for each figure: what is one slow node, and what is all of them. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt
from statistics import median
from typing import TYPE_CHECKING

from clusterctl.model.measured_curve import CURVE_RULES, UPPER_RULES
from clusterctl.model.run_report import WORST_FIRST
from clusterctl.model.running_text import counted
from clusterctl.report.curve_rows import number_text
from clusterctl.report.inert import visible
from clusterctl.report.series_drawing import LARGE
from clusterctl_validators.finding import QUIET

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from clusterctl.model.gate_result import Figure, GateResult
    from clusterctl.model.run_report import NodeSection

_LEAST_BARS, _MOST_BARS = 6, 24
# A run has a dozen figures; those of a site's own gates are nobody's promise.
_MOST = 100
# One value of each device: an outcome is that of the worst limit of the figure.
_Values = dict[tuple[str, str], "GateResult"]


@dataclass(frozen=True, slots=True)
class Spread:
    """The values of a figure on nodes of one profile.

    Attributes:
        what, limit, summary: its name, its limits, and all in words; safe to show.
        bad: how many are to be looked at.
        left, right: the ends of the scale.
        bars, bad_bars: polygons: all values, and those to be looked at among them.
        lines: where the limits are.
        rows: (from and to, how many values, how many to be looked at), without empty ones.
    """

    what: str
    limit: str
    summary: str
    bad: int
    left: str
    right: str
    bars: tuple[str, ...]
    bad_bars: tuple[str, ...]
    lines: tuple[float, ...]
    rows: tuple[tuple[str, int, int], ...]
    simulated: bool


def spreads(sections: Iterable[NodeSection]) -> tuple[Spread, ...]:
    """The figures with values, those with most to be looked at first. Results that no longer count are left out."""
    found: dict[tuple[Figure, str], _Values] = {}
    for section in sections:
        if section.gates_earlier is None or section.gates_earlier.counts:
            for result in filter(_has_value, section.gate_results):
                own = found.setdefault((result.figure, section.record.profile), {})
                known = own.get((section.name, result.device))
                if known is None or WORST_FIRST[result.outcome] < WORST_FIRST[known.outcome]:
                    own[section.name, result.device] = result
    profiles = {profile for _, profile in found}
    made = [_spread(figure, profile if len(profiles) > 1 else "", own) for (figure, profile), own in found.items()]
    return tuple(sorted(made, key=lambda s: (-s.bad, s.what))[:_MOST])


def _has_value(result: GateResult) -> bool:
    return result.own_value is not None and result.rule in CURVE_RULES


def _spread(figure: Figure, profile: str, own: Mapping[tuple[str, str], GateResult]) -> Spread:
    results = list(own.values())
    values = sorted(_value(r) for r in results)
    limits = sorted({r.limit for r in results if r.limit is not None})
    low, high = min([values[0], *limits]), max([values[-1], *limits])
    size = f"{figure.size_bytes} B" if figure.size_bytes else ""
    what = " ".join(filter(None, (figure.gate, figure.op, figure.metric, size, profile)))
    name = "upper limit" if any(r.rule in UPPER_RULES for r in results) else "floor"
    limit = f"{name} {' and '.join(map(number_text, limits))} {figure.unit}".rstrip() if limits else ""
    bad = sum(r.outcome not in QUIET for r in results)
    read = f"{number_text(values[0])} to {number_text(values[-1])} {figure.unit}".rstrip() + f", median {number_text(median(values))}"
    number = f"{counted(len(values), 'value')} of {counted(len({node for node, _ in own}), 'node')}"
    all_bins, bad_bins = _bins(results, low, high)
    most = max(all_bins)
    width = (high - low) / len(all_bins)
    return Spread(
        visible(what),
        visible(limit),
        visible("; ".join(filter(None, (number, read, limit)))),
        bad,
        number_text(low),
        number_text(high),
        tuple(_bars(all_bins, most)),
        tuple(_bars(bad_bins, most)),
        tuple(_across((v - low) / ((high - low) or 1.0)) for v in limits),
        tuple(
            (f"{number_text(low + i * width)} to {number_text(low + (i + 1) * width)}", number, bad_bins[i])
            for i, number in enumerate(all_bins)
            if number
        ),
        any(r.simulated for r in results),
    )


def _value(result: GateResult) -> float:
    return 0.0 if result.own_value is None else result.own_value


def _bins(results: Sequence[GateResult], low: float, high: float) -> tuple[list[int], list[int]]:
    """How many values, and how many to be looked at, are in each of equal steps from `low` to `high`."""
    steps = min(_MOST_BARS, max(_LEAST_BARS, ceil(sqrt(len(results))))) if high > low else 1
    every, bad = [0] * steps, [0] * steps
    for result in results:
        place = min(steps - 1, int((_value(result) - low) / ((high - low) or 1.0) * steps))
        every[place] += 1
        bad[place] += result.outcome not in QUIET
    return every, bad


def _across(share: float) -> float:
    return round(LARGE.edge + share * (LARGE.width - 2 * LARGE.edge), 1)


def _bars(bins: Sequence[int], most: int) -> Iterator[str]:
    """A bar for each step that is not empty; one value can be seen beside a thousand."""
    tall, bottom = LARGE.height - 2 * LARGE.edge, LARGE.height - LARGE.edge
    for i, number in enumerate(bins):
        if number:
            left, right, top = _across(i / len(bins)), _across((i + 1) / len(bins)) - 1, round(bottom - max(number / most * tall, 2), 1)
            yield f"{left:g},{bottom} {left:g},{top:g} {right:g},{top:g} {right:g},{bottom}"
