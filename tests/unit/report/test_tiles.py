"""Racks: a tile per node, its colour from the measurement that is nearest to its floor, a colour and a sign for every state."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from clusterctl import report as report_package
from clusterctl.model.own_history import VALUE_RULES
from clusterctl.model.run_report import Earlier
from clusterctl.model.state import State
from clusterctl.report.margins import lowest_margin
from clusterctl.report.tiles import is_dense, tiled_racks
from clusterctl.terminal.states import SIGNS
from support.big_report import big_report
from support.stores import a_result

STYLE = (Path(report_package.__file__).parent / "templates/style.css").read_text()


@pytest.mark.parametrize("state", State)
def test_every_state_has_a_colour_in_light_and_dark_and_a_sign(state: State) -> None:
    match = re.search(rf"\.s-{state.value}\b[^{{}}]*\{{ --c: var\((--\w+)\)", STYLE)
    assert match, state
    assert len(re.findall(rf"{match[1]}: #", STYLE)) == 2
    assert SIGNS[state]


@pytest.mark.parametrize(
    ("value", "text", "level"),
    [
        (98.1, "\N{MINUS SIGN}46 %", 0),
        (179.9, "\N{MINUS SIGN}0.1 %", 0),
        (180.0, "+0.0 %", 1),
        (183.0, "+1.7 %", 1),
        (190.0, "+6 %", 2),
        (220.0, "+22 %", 3),
    ],
)
def test_the_margin_is_the_distance_from_the_floor(value: float, text: str, level: int) -> None:
    margin = lowest_margin([replace(a_result(), value=value), replace(a_result(), value=400.0)])
    assert margin is not None
    assert (margin.text, margin.level) == (text, level)


@pytest.mark.parametrize("rule", VALUE_RULES)
def test_a_value_that_another_rule_judged_keeps_its_distance_from_the_floor(rule: str) -> None:
    margin = lowest_margin([replace(a_result(), value=190.0, rule=rule)])
    assert margin is not None
    assert margin.text == "+6 %"


@pytest.mark.parametrize("change", [{"value": None}, {"limit": None}, {"limit": 0.0}, {"rule": "ceiling"}])
def test_without_a_floor_there_is_no_margin(change: dict[str, object]) -> None:
    assert lowest_margin([replace(a_result(), **change)]) is None  # type: ignore[arg-type]


def test_what_no_longer_counts_gives_an_admitted_node_no_colour() -> None:
    sections = big_report(6).sections
    gone = Earlier(("20260101-000000-burnin-aaaa",), counts=False)
    (rack,) = tiled_racks([replace(s, gates_earlier=gone) for s in sections])
    assert {t.state is State.ADMITTED: t.margin is None for t in rack.tiles} == {True: True, False: False}


def test_labels_are_short_where_nodes_are_many() -> None:
    few, many = (tuple(tiled_racks(big_report(n).sections)) for n in (72, 200))
    assert (is_dense(few), is_dense(many)) == (False, True)
    assert few[0].tiles[0].label == "r012-n01"
    assert many[0].tiles[0].label == "n01"
    assert "r012-n01: admitted" in many[0].tiles[0].title
