"""The values of a run, figure by figure: all of them, in bars that are as many as the values are worth."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.model.gate_result import Outcome
from clusterctl.model.run_report import Earlier
from clusterctl.report.series_drawing import LARGE
from clusterctl.report.spreads import spreads
from support.big_report import big_report
from support.nights import upper_result
from support.stores import a_result

SECTION = big_report(1).sections[0]
VALUES = st.lists(st.tuples(st.floats(-1e9, 1e9, allow_nan=False), st.sampled_from(Outcome)), min_size=1, max_size=80)


@given(VALUES, st.none() | st.floats(-1e9, 1e9, allow_nan=False))
def test_every_value_is_in_one_bar(found: list[tuple[float, Outcome]], limit: float | None) -> None:
    results = [replace(a_result(o, device=f"mlx5_{i}"), value=v, limit=limit) for i, (v, o) in enumerate(found)]
    (one,) = spreads([replace(SECTION, gate_results=tuple(results))])
    assert sum(number for _, number, _ in one.rows) == len(found)
    assert sum(bad for _, _, bad in one.rows) == one.bad == sum(o in {Outcome.FAIL, Outcome.COULD_NOT_RUN, Outcome.WARN} for _, o in found)
    corners = [tuple(map(float, p.split(","))) for bar in (*one.bars, *one.bad_bars) for p in bar.split(" ")]
    assert all(0 <= x <= LARGE.width and 0 <= y <= LARGE.height for x, y in corners)
    assert len(one.bars) == len(one.rows)
    assert all(0 <= x <= LARGE.width for x in one.lines)
    assert len(one.lines) == (limit is not None)


def test_a_device_is_one_value_with_its_worst_outcome() -> None:
    results = (a_result(), replace(a_result(Outcome.WARN), rule="peers", value=196.4), a_result(device="mlx5_4"))
    (one,) = spreads([replace(SECTION, gate_results=results)])
    assert (one.summary, one.bad) == ("2 values of 1 node; 196.4 to 196.4 Gb/s, median 196.4; floor 180 Gb/s", 1)


def test_what_does_not_count_or_is_no_value_is_left_out() -> None:
    results = (replace(a_result(), value=None), replace(a_result(), rule="growth"))
    assert spreads([replace(SECTION, gate_results=results)]) == ()
    for counts in (True, False):
        earlier = replace(SECTION, gate_results=(a_result(),), gates_earlier=Earlier(("run",), counts))
        assert len(spreads([earlier])) == counts


def test_nodes_of_two_profiles_are_apart() -> None:
    others = replace(SECTION, gate_results=(replace(a_result(), limit=90.0),), record=replace(SECTION.record, profile="other"))
    found = spreads([replace(SECTION, gate_results=(a_result(),)), others])
    assert [(s.what.split(" ")[-1], s.limit) for s in found] == [("hgx_h100", "floor 180 Gb/s"), ("other", "floor 90 Gb/s")]


@pytest.mark.parametrize("outcome", [Outcome.PASS, Outcome.FAIL])
def test_an_upper_limit_has_its_name(outcome: Outcome) -> None:
    (one,) = spreads([replace(SECTION, gate_results=(upper_result(outcome, SECTION.name, 5.0),))])
    assert one.limit == "upper limit 4 us"
