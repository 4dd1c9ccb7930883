from __future__ import annotations

import pytest

from clusterctl.core import timestamps
from clusterctl.core.drift.memory import Seen, remember, seconds, since
from clusterctl.model.drift import Deviation, DriftKind, DriftReport
from clusterctl_validators.finding import Severity

NIGHT_1, NIGHT_2 = "2026-03-01T02:00:00.000000Z", "2026-03-02T02:00:00.000000Z"


def deviation(check: str) -> Deviation:
    return Deviation("n1", check, "kernel", DriftKind.DRIFT, Severity.MAJOR, "1", "0", "")


def report(*checks: str, good: tuple[str, ...] = ()) -> DriftReport:
    return DriftReport(("n1",), tuple(map(deviation, checks)), (), frozenset(("n1", c) for c in good))


def test_the_second_night_keeps_the_first_date() -> None:
    dated, ended = remember(report("a", "b"), [Seen("n1", "a", NIGHT_1, NIGHT_1)], NIGHT_2)
    assert [(d.check, d.first_seen, d.last_seen) for d in dated.deviations] == [("a", NIGHT_1, NIGHT_2), ("b", NIGHT_2, NIGHT_2)]
    assert ended == ()


def test_only_a_check_that_was_seen_to_hold_ends_a_deviation() -> None:
    before = [Seen("n1", c, NIGHT_1, NIGHT_1) for c in ("a", "b")]
    _, ended = remember(report(good=("a",)), before, NIGHT_2)
    assert [e.check for e in ended] == ["a"], "b was not asked: a lost node or a check that could not run"


def test_since_shows_what_is_new() -> None:
    dated, _ = remember(report("a", "b"), [Seen("n1", "a", NIGHT_1, NIGHT_1)], NIGHT_2)
    assert [d.check for d in since(dated, 3600, timestamps.after(NIGHT_2, 60))] == ["b"]
    assert len(since(dated, 2 * 86_400, NIGHT_2)) == 2


@pytest.mark.parametrize(("text", "value"), [("90m", 5400), ("24h", 86_400), ("7d", 604_800), ("2w", 1_209_600)])
def test_durations(text: str, value: float) -> None:
    assert seconds(text) == value


@pytest.mark.parametrize("text", ["", "h", "24", "-1h", "0d", "1.5h", "24 h", "1y", "٣h"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        seconds(text)
