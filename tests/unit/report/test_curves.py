"""What is to be looked at is drawn over time, against the fleet: the right values, and no more than a page has room for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import event

from clusterctl.adapters.store import curve_records
from clusterctl.core.fleet_days import LEAST_NODES, FleetValue, fleet_days
from clusterctl.core.node_curves import MOST, MOST_OF_NODE, curve_key, wanted_curves
from clusterctl.model.gate_result import Figure, Outcome
from clusterctl.model.measured_curve import CURVE_RUNS, FleetKey
from clusterctl.model.measurement_series import FleetDay, MeasuredPoint, MeasurementSeries
from clusterctl.model.part import Part
from clusterctl.report.curve_rows import curve_data, curve_words, number_text
from clusterctl.report.page import render_page
from clusterctl.report.series_drawing import LARGE, drawing
from clusterctl.workflows.collect_curves import with_curves
from clusterctl.workflows.collect_report import collect
from pages.goals import GOALS, Goal
from support.big_report import big_report, made_up_curve
from support.nights import DEVICES, NIGHT_BAD, NIGHT_NAMES, night_run, upper_result, write_nights
from support.stores import a_node, a_result, fresh

if TYPE_CHECKING:
    from clusterctl.adapters.store import Store
    from clusterctl.model.measured_curve import NodeCurve
    from clusterctl.model.records import RunRow
    from clusterctl.model.run_report import RunReport

VALUES = st.floats(-1e9, 1e9, allow_nan=False)
KEY = FleetKey(Figure("g", "m", "Gb/s"), "", "p", simulated=False)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return fresh(tmp_path)


def drawn(store: Store, run: RunRow) -> tuple[NodeCurve, ...]:
    return with_curves(store, collect(store, run, Path("/"))).curves.drawn


def test_the_device_that_failed_is_drawn_beside_the_fleet_of_each_day(store: Store) -> None:
    (curve,) = drawn(store, write_nights(store, range(1, 5), bad_in=4))
    assert (curve.node, curve.series.device, curve.limit) == (NIGHT_BAD, DEVICES[1], 180.0)
    assert [(p.value, p.outcome) for p in curve.series.points] == [(191.0, Outcome.PASS)] * 3 + [(98.1, Outcome.FAIL)]
    assert [d and (d.day, d.nodes, d.median) for d in curve.series.fleet] == [(f"2026-03-{i:02d}", 9, 195.0) for i in range(1, 5)]
    assert curve.series.fleet[0]
    assert (curve.series.fleet[0].low, curve.series.fleet[0].high) == (191.0, 199.0)


def test_a_curve_ends_with_the_run_of_the_report_and_has_the_last_runs(store: Store) -> None:
    last = write_nights(store, range(1, 31), bad_in=2)
    (newest,) = drawn(store, last)
    assert [p.run_id for p in newest.series.points] == [night_run(i).id for i in range(31 - CURVE_RUNS, 31)]
    (earlier,) = drawn(store, store.run(night_run(3).id))
    assert [p.run_id for p in earlier.series.points] == [night_run(i).id for i in range(1, 4)]


def test_a_node_that_is_measured_alone_is_compared_with_the_last_day_of_the_fleet(store: Store) -> None:
    write_nights(store, range(1, 3), bad_in=2)
    (curve,) = drawn(store, write_nights(store, range(3, 4), bad_in=2, names=(NIGHT_BAD,)))
    assert [d and d.day for d in curve.series.fleet] == ["2026-03-01", "2026-03-02", "2026-03-02"]
    assert curve_words(curve).fleet.endswith("9 nodes on 2026-03-02")


def test_other_profiles_and_versions_are_no_fleet_of_a_node(store: Store) -> None:
    run = write_nights(store, range(1, 3), bad_in=2)
    store.register([replace(a_node(n, slot=i), groups=("all", "profile_other")) for i, n in enumerate(NIGHT_NAMES[1:], 2)])
    (curve,) = drawn(store, run)
    assert curve.series.fleet == (None, None)


def test_values_of_a_node_are_its_worst_whichever_device_it_is_of(store: Store) -> None:
    write_nights(store, range(1, 2), bad_in=9)
    gpu = replace(a_result(gate="torch_gemm"), peers=(), metric="gemm", unit="TFLOPS", limit=600.0)
    store.save_gate_results(night_run(1).id, [replace(gpu, device="GPU 2", value=640.0)])
    run = write_nights(store, range(2, 3), bad_in=9)
    low = replace(gpu, outcome=Outcome.FAIL)
    store.save_gate_results(run.id, [replace(low, device="GPU 3", value=500.0), replace(low, device="GPU 1", value=550.0)])
    (curve,) = drawn(store, run)
    assert (curve.series.device, [p.value for p in curve.series.points]) == ("", [640.0, 500.0])


def test_what_was_measured_before_a_part_was_replaced_is_of_another_one(store: Store) -> None:
    run = write_nights(store, range(1, 5), bad_in=4)
    (before,) = drawn(store, run)
    assert before.earlier_part == (False,) * 4
    for serial, day in (("A", 1), ("B", 3)):
        store.save_parts(night_run(day).id, NIGHT_BAD, [Part("hca", "0000:1b:00.0", DEVICES[1], "CX7", serial)])
    (curve,) = drawn(store, run)
    # Parts are seen when the store says so, which is later than the nights: the run that saw it first measured it.
    assert curve.earlier_part == (True, True, False, True)
    assert curve_data(curve, lambda text: text.count("replaced since")).marks == (2, 2, 0, 3)


def test_where_lower_is_better_the_highest_counts(store: Store) -> None:
    run = write_nights(store, range(1, 2), bad_in=9)
    bad = [upper_result(Outcome.FAIL, NIGHT_BAD, v) for v in (5.0, 9.0)]
    store.save_gate_results(run.id, [*bad, *(upper_result(Outcome.PASS, n, 3.0) for n in NIGHT_NAMES[1:])])
    (curve,) = drawn(store, run)
    assert ([p.value for p in curve.series.points], curve.is_upper) == ([9.0], True)
    assert curve_words(curve).limit == "upper limit 4 us"
    assert curve.series.fleet[0]
    assert curve.series.fleet[0].median == 3.0
    assert curve.series.fleet[0].high > 3.0


def test_one_value_beside_nothing_is_not_drawn(store: Store) -> None:
    assert drawn(store, write_nights(store, range(1, 2), bad_in=1, names=NIGHT_NAMES[: LEAST_NODES - 1])) == ()


def test_a_run_without_failures_reads_no_history(store: Store) -> None:
    report = collect(store, write_nights(store, range(1, 3), bad_in=9), Path("/"))
    asked: list[str] = []
    event.listen(store._engine, "before_cursor_execute", lambda *a: asked.append(a[2]))
    assert with_curves(store, report).curves.drawn == ()
    assert asked == []


def test_history_is_read_by_as_many_queries_for_many_nodes_as_for_one(store: Store) -> None:
    run = write_nights(store, range(1, 3), bad_in=2)
    store.save_gate_results(run.id, [a_result(Outcome.FAIL, node=n, device=d) for n in NIGHT_NAMES for d in DEVICES])
    report = collect(store, run, Path("/"))
    asked: list[str] = []
    event.listen(store._engine, "before_cursor_execute", lambda *a: asked.append(a[2]))
    assert len(with_curves(store, report).curves.drawn) == len(NIGHT_NAMES) * len(DEVICES)
    assert len([a for a in asked if a.startswith("SELECT")]) == 4


def test_only_the_newest_results_of_a_record_are_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    run = write_nights(store, range(1, 11), bad_in=10)
    monkeypatch.setattr(curve_records, "_NEWEST", 3 * len(NIGHT_NAMES) * len(DEVICES))
    (curve,) = drawn(store, run)
    assert [p.run_id for p in curve.series.points] == [night_run(i).id for i in (8, 9, 10)]
    assert [d and d.day for d in curve.series.fleet] == ["2026-03-08", "2026-03-09", "2026-03-10"]


def test_only_the_newest_values_of_a_fleet_are_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    run = write_nights(store, range(1, 11), bad_in=10)
    monkeypatch.setattr(curve_records, "_OF_FLEET", 2 * len(NIGHT_NAMES) * len(DEVICES))
    (curve,) = drawn(store, run)
    assert len(curve.series.points) == 10
    assert [d and d.day for d in curve.series.fleet] == [None] * 8 + ["2026-03-09", "2026-03-10"]


def all_bad(nodes: int) -> RunReport:
    """A run in which every result of every node failed."""
    report = big_report(nodes)
    sections = tuple(
        replace(s, gate_results=tuple(replace(g, outcome=Outcome.FAIL, rule="floor") for g in s.gate_results)) for s in report.sections
    )
    return replace(report, sections=sections)


def test_every_node_has_its_worst_before_any_has_its_second() -> None:
    sections = all_bad(390).sections
    chosen, left_out = wanted_curves(sections)
    assert len(chosen) == MOST
    # The nodes that do not answer have no results.
    assert {k.node for k in chosen} == {s.name for s in sections if s.gate_results}
    assert sum(left_out.values()) + MOST == len({curve_key(r) for s in sections for r in s.gate_results})
    few, rest = wanted_curves(sections[:2])
    assert [sum(k.node == s.name for k in few) for s in sections[:2]] == [MOST_OF_NODE] * 2
    assert all(rest.values())


def test_warnings_are_drawn_after_failures_and_passes_are_not() -> None:
    section = all_bad(1).sections[0]
    results = [replace(g, outcome=Outcome.WARN if g.metric != "busbw" else Outcome.FAIL) for g in section.gate_results]
    chosen, _ = wanted_curves([replace(section, gate_results=tuple(results))])
    assert next(iter(chosen)).figure.metric == "busbw"
    passed = [replace(g, outcome=Outcome.PASS) for g in results]
    assert wanted_curves([replace(section, gate_results=tuple(passed))]) == ({}, {})


@pytest.mark.parametrize("goal", GOALS, ids=lambda g: f"{g.nodes} nodes")
def test_a_page_with_all_the_curves_it_may_have_is_as_small_as_promised(goal: Goal) -> None:
    report = big_report(goal.nodes)
    names = [s.name for s in report.sections]
    many = [made_up_curve(names[i % len(names)], f"mlx5_{i}", 90.0 + i) for i in range(min(MOST, MOST_OF_NODE * len(names)))]
    with_them = replace(report, curves=replace(report.curves, drawn=tuple(many)))
    assert len(render_page(with_them).encode()) <= goal.size


@given(st.lists(st.tuples(st.integers(0, 6), VALUES), min_size=1, max_size=60))
def test_a_day_has_the_middle_and_most_of_the_values(found: list[tuple[int, float]]) -> None:
    values = [v for _, v in found]
    rows = [FleetValue(KEY, "2026-03-01", "run", f"n{node}", v, v, is_upper=False) for node, v in sorted(found)]
    days = fleet_days(rows).get(KEY, ())
    assert bool(days) == (len({node for node, _ in found}) >= LEAST_NODES)
    for day in days:
        assert day.nodes == len({node for node, _ in found})
        least, most = (edge(values) for edge in (min, max))
        rounding = 1e-9 * max(1.0, abs(least), abs(most))
        assert least - rounding <= day.low <= day.median + rounding <= day.high + 2 * rounding <= most + 3 * rounding
        assert day.median == pytest.approx(median(values))


POINTS = st.lists(st.tuples(VALUES, st.none() | st.lists(VALUES, min_size=3, max_size=3).map(sorted)), min_size=1, max_size=CURVE_RUNS)


@given(POINTS, st.none() | VALUES)
def test_all_shapes_stay_in_their_box(found: list[tuple[float, list[float] | None]], limit: float | None) -> None:
    points = tuple(MeasuredPoint("r", "2026", v, Outcome.PASS, simulated=False) for v, _ in found)
    fleet = [FleetDay("2026-03-01", 9, *three) if three else None for _, three in found]
    shapes = drawing(MeasurementSeries("g", "m", "", "Gb/s", "", None, "", limit, points, tuple(fleet)), LARGE, limit)
    drawn = [tuple(map(float, p.split(","))) for s in (shapes.line, *shapes.bands, *shapes.medians) for p in s.split(" ")]
    assert all(0 <= x <= LARGE.width and 0 <= y <= LARGE.height for x, y in drawn)
    assert len(shapes.line.split(" ")) == len(found)
    assert bool(shapes.bands) == any(fleet)
    assert (shapes.limit is None) == (limit is None)


@pytest.mark.parametrize(("value", "text"), [(98.1, "98.1"), (0.00123, "0.00123"), (123456.7, "123457"), (-5.0, "-5")])
def test_numbers_are_short(value: float, text: str) -> None:
    assert number_text(value) == text
