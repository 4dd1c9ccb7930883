"""Upper limits in the one judge of limits: a value above is what a value below a floor is elsewhere."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clusterctl.core.gates.judging.limits import compare_with_limits, limit_text
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import Baseline, BaselineKind, Outcome, Sample

LIMIT = Baseline("cpu_stream", "seen", BaselineKind.UPPER_LIMIT, 5.0, "us", "tests", "2026-01")


def samples(**us: float) -> list[Sample]:
    return [Sample("seen", value, "us", device=device) for device, value in us.items()]


def test_a_value_at_its_upper_limit_passes_with_the_worst_of_several() -> None:
    (result,) = compare_with_limits("cpu_stream", "n1", samples(a=5.0, b=4.0), [LIMIT], nodes=1)
    assert (result.outcome, result.rule, result.device, result.value, result.expected) == (Outcome.PASS, "upper_limit", "a", 5.0, "<= 5 us")


def test_each_device_above_it_fails_with_its_worst_value() -> None:
    found = compare_with_limits("cpu_stream", "n1", [*samples(a=5.1, b=4.0, c=6.0), *samples(c=7.0)], [LIMIT], nodes=1)
    assert [(r.device, r.outcome, r.reason, r.value) for r in found] == [
        ("a", Outcome.FAIL, GateReason.ABOVE_LIMIT, 5.1),
        ("c", Outcome.FAIL, GateReason.ABOVE_LIMIT, 7.0),
    ]


def test_it_stands_beside_a_floor_and_both_are_judged() -> None:
    floor = replace(LIMIT, metric="copy", kind=BaselineKind.FLOOR, value=100.0, unit="MB/s")
    measured = [*samples(a=6.0), Sample("copy", 90.0, "MB/s", device="a")]
    found = compare_with_limits("cpu_stream", "n1", measured, [floor, LIMIT], nodes=1)
    assert {r.reason for r in found} == {GateReason.BELOW_FLOOR, GateReason.ABOVE_LIMIT}


def test_no_value_is_no_pass() -> None:
    (result,) = compare_with_limits("cpu_stream", "n1", [], [LIMIT], nodes=1)
    assert (result.outcome, result.reason) == (Outcome.COULD_NOT_RUN, GateReason.INCOMPLETE)


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [(5.0, 1, "5"), (5.0, 2, "5"), (2.826, 2, "2.83"), (2.8, 2, "2.80"), (392.44, 1, "392.4"), (100.0, 2, "100")],
)
def test_a_number_for_people(value: float, decimals: int, text: str) -> None:
    assert limit_text(value, decimals) == text
