"""Results of earlier runs -> a series for each figure of each device of a node. Pure."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from clusterctl.model.measured_curve import UPPER_RULES
from clusterctl.model.measurement_series import MeasuredPoint, MeasurementSeries
from clusterctl.model.run_report import WORST_FIRST

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterctl.model.gate_result import GateResult
    from clusterctl.model.own_history import PastResult

_Key = tuple[str, str, str, str, str, int | None, str]
_Valued = tuple[float, "PastResult"]
# Rules whose limit is that of the value itself.
_LIMITED = ("floor", "history", "upper_limit")


def measured_series(past: Iterable[PastResult], runs: int) -> tuple[MeasurementSeries, ...]:
    """The series of one node, each with the values of its last `runs` runs; `past` is oldest first."""
    found: dict[_Key, dict[str, list[_Valued]]] = defaultdict(lambda: defaultdict(list))
    for one in past:
        r = one.result
        if r.own_value is not None:
            found[r.gate, r.metric, device_of(r), r.unit, r.op, r.size_bytes, r.tool_version][one.run_id].append((r.own_value, one))
    return tuple(_series(key, list(found[key].values())[-runs:]) for key in sorted(found, key=_order))


def device_of(result: GateResult) -> str:
    """The device whose value it is; empty for the worst value of a node, which is of another device each time."""
    return result.device if result.peers else ""


def _order(key: _Key) -> tuple[str, ...]:
    return tuple(f"{word:020}" if isinstance(word, int) else word or "" for word in key)


def _series(key: _Key, of_runs: list[list[_Valued]]) -> MeasurementSeries:
    floors = [o.result.limit for _, o in of_runs[-1] if o.result.rule in _LIMITED]
    return MeasurementSeries(*key, floors[-1] if floors else None, tuple(_point(o) for o in of_runs))


def _point(of_run: list[_Valued]) -> MeasuredPoint:
    """A run has a result for each limit of a figure, and for each bad device of a node: the worst value and the worst of how they were judged."""
    worst_value = max if any(o.result.rule in UPPER_RULES for _, o in of_run) else min
    newest = of_run[-1][1]
    worst = min((o.result.outcome for _, o in of_run), key=WORST_FIRST.__getitem__)
    return MeasuredPoint(newest.run_id, newest.run_at, worst_value(v for v, _ in of_run), worst, newest.result.simulated)
