"""Which measurements of a run are drawn over time, and their curves. Pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from clusterctl.core.fleet_days import beside_fleet, figure_of
from clusterctl.core.gates.judging.own_history import of_earlier_parts
from clusterctl.core.measured_series import device_of, measured_series
from clusterctl.model.measured_curve import CURVE_RULES, CURVE_RUNS, UPPER_RULES, CurveKey, Curves, NodeCurve
from clusterctl.model.run_report import WORST_FIRST
from clusterctl_validators.finding import QUIET

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from clusterctl.model.gate_result import GateResult
    from clusterctl.model.measured_curve import FleetKey, RecordedCurves
    from clusterctl.model.measurement_series import FleetDay, MeasurementSeries
    from clusterctl.model.own_history import PastResult
    from clusterctl.model.run_report import NodeSection

# A curve takes 1 to 2 kB of a page: so many keep a page of any run below its limits.
MOST_OF_NODE, MOST = 8, 400


def wanted_curves(sections: Iterable[NodeSection]) -> tuple[dict[CurveKey, GateResult], Counter[str]]:
    """What is to be looked at and has a value, and how many of each node are left out: every node has its worst before any has its second."""
    ranked: list[tuple[int, int, CurveKey, GateResult]] = []
    for section in sections:
        own: dict[CurveKey, GateResult] = {}
        for result in sorted(filter(_is_wanted, section.gate_results), key=lambda r: WORST_FIRST[r.outcome]):
            own.setdefault(curve_key(result), result)
        ranked += [(place, WORST_FIRST[r.outcome], key, r) for place, (key, r) in enumerate(own.items())]
    ranked.sort(key=lambda one: one[:2])
    within = [one for one in ranked if one[0] < MOST_OF_NODE][:MOST]
    chosen = {key: result for _, _, key, result in within}
    return chosen, Counter(key.node for _, _, key, _ in ranked if key not in chosen)


def curves(
    sections: Sequence[NodeSection], wanted: Mapping[CurveKey, GateResult], left_out: Counter[str], recorded: RecordedCurves
) -> Curves:
    """The curves in the order of the nodes."""
    past: dict[str, list[PastResult]] = {}
    for one in recorded.past:
        past.setdefault(one.result.node, []).append(one)
    is_earlier = of_earlier_parts(recorded.parts)
    drawn = [c for s in sections for c in _of_node(s, past.get(s.name, ()), wanted, recorded.fleet, is_earlier)]
    return Curves(tuple(drawn), tuple(left_out.items()))


def curve_key(result: GateResult) -> CurveKey:
    """Whose curve a result is a point of."""
    return CurveKey(result.node, device_of(result), result.figure, result.tool_version)


def _is_wanted(result: GateResult) -> bool:
    return result.outcome not in QUIET and result.value is not None and result.rule in CURVE_RULES


def _of_node(
    section: NodeSection,
    past: Sequence[PastResult],
    wanted: Mapping[CurveKey, GateResult],
    fleet: Mapping[FleetKey, Sequence[FleetDay]],
    is_earlier: Callable[[PastResult], bool],
) -> Iterator[NodeCurve]:
    for series in measured_series(past, CURVE_RUNS):
        key = CurveKey(section.name, series.device, figure_of(series), series.tool_version)
        bad = wanted.get(key)
        if bad is None:
            continue
        shown = beside_fleet(series, section.record.profile, fleet)
        # one value beside nothing is not a picture
        if len(shown.points) > 1 or any(shown.fleet):
            before = {one.run_id for one in past if curve_key(one.result) == key and is_earlier(one)}
            earlier = tuple(p.run_id in before for p in shown.points)
            yield NodeCurve(section.name, shown, _limit(bad, shown), bad.rule in UPPER_RULES, earlier)


def _limit(bad: GateResult, series: MeasurementSeries) -> float | None:
    return series.limit if bad.limit is None else bad.limit
