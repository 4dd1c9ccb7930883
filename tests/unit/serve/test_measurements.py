"""Values of runs -> series, and the small line of a series."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from clusterctl.core.measured_series import measured_series
from clusterctl.model.gate_result import Outcome
from clusterctl.model.measurement_series import MeasuredPoint, MeasurementSeries
from clusterctl.model.own_history import PastResult
from clusterctl.report.series_drawing import SMALL, sparkline
from support.stores import a_result

VALUES = st.floats(-1e9, 1e9, allow_nan=False)


def past(run: int, value: float | None = 200.0, outcome: Outcome = Outcome.PASS, **more: object) -> PastResult:
    result = replace(a_result(outcome), value=value, **more)  # type: ignore[arg-type]
    return PastResult(result, f"run{run}", f"2026-03-{run:02d}")


def test_a_series_has_the_last_runs_oldest_first() -> None:
    (series,) = measured_series([past(i, 190.0 + i) for i in range(1, 9)], 5)
    assert [(p.run_id, p.value) for p in series.points] == [(f"run{i}", 190.0 + i) for i in range(4, 9)]


def test_a_run_with_several_limits_is_one_point_with_the_worst_outcome() -> None:
    (series,) = measured_series([past(1, 90.0, Outcome.FAIL), past(1, 90.0, rule="peers", limit=5.0)], 5)
    assert [(p.value, p.outcome) for p in series.points] == [(90.0, Outcome.FAIL)]
    assert series.limit == 180.0


def test_the_limit_is_the_floor_of_the_newest_run_and_no_other_limit() -> None:
    (series,) = measured_series([past(1), past(2, rule="peers", limit=5.0)], 5)
    assert series.limit is None


def test_values_that_cannot_be_compared_are_apart() -> None:
    found = measured_series([past(1), past(1, device="mlx5_4"), past(1, size_bytes=8), past(1, tool_version="2"), past(1, unit="GB/s")], 5)
    assert len(found) == 5


def test_the_worst_value_of_a_node_is_one_series_whichever_device_it_is_of() -> None:
    found = measured_series([past(1, device="GPU 2", peers=()), past(2, 150.0, device="GPU 3", peers=())], 5)
    assert [(s.device, [p.value for p in s.points]) for s in found] == [("", [200.0, 150.0])]


def test_of_a_device_that_met_several_the_best_counts_as_in_the_judgement_against_its_history() -> None:
    (series,) = measured_series([past(1, 182.0, best=196.0)], 5)
    assert [p.value for p in series.points] == [196.0]


def test_a_result_without_a_value_is_no_point() -> None:
    assert measured_series([past(1, None)], 5) == ()


@given(st.lists(VALUES, min_size=1, max_size=5), st.none() | VALUES)
def test_the_line_stays_in_its_box_and_can_be_seen(values: list[float], limit: float | None) -> None:
    points = tuple(MeasuredPoint("r", "2026", v, Outcome.PASS, simulated=False) for v in values)
    shapes = sparkline(MeasurementSeries("g", "m", "", "Gb/s", "", None, "", limit, points))
    drawn = [tuple(map(float, pair.split(","))) for pair in shapes.line.split(" ")]
    assert len(drawn) == max(len(values), 2)
    assert all(0 <= x <= SMALL.width and 0 <= y <= SMALL.height for x, y in drawn)
    assert (shapes.limit is None) == (limit is None)
    assert shapes.limit is None or 0 <= shapes.limit <= SMALL.height
