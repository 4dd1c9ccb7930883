"""What the stored rows of a serial come to: cases, and the laws behind them."""

from __future__ import annotations

from dataclasses import astuple, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.core.lemons.events import troubles
from clusterctl.core.lemons.scores import count, score, trouble_records
from clusterctl.model.trouble import TroubleRecord, TroubleSources
from clusterctl.model.trouble_counts import TroubleCounts
from support.plain_yaml import load_yaml
from support.roles import ROOT
from support.troubles import DEFAULT_LIMITS, NOW, bad_result, move, sources_of, span

CASES: list[dict[str, Any]] = load_yaml((ROOT / "tests/cases/lemons/cases.yml").read_text())
CAUSES = (None, "gate_failed", "check_failed", "unreachable", "role_failed", "gate_could_not_run", "gate_missing")

moves = st.lists(
    st.builds(
        move,
        st.integers(0, 120),
        st.sampled_from(["admitted", "quarantined", "drained"]),
        st.sampled_from(CAUSES),
        st.sampled_from(["", "r1", "r2", "r3"]),
        node=st.sampled_from(["n1", "n2"]),
    ),
    max_size=12,
).map(lambda rows: sorted(rows, key=lambda r: r.at))
results = st.lists(
    st.builds(
        bad_result,
        st.integers(0, 120),
        st.sampled_from(["fail", "warn", "could_not_run"]),
        st.sampled_from(["below_floor", "collision", "raised_by_load", "shared_fault", None]),
        st.sampled_from(["link_downed", "bandwidth"]),
        st.sampled_from(["", "mlx5_0", "gpu1"]),
        st.sampled_from(["r1", "r2", "r3", "r4", "r5"]),
        node=st.sampled_from(["n1", "n2"]),
    ),
    max_size=12,
)
all_sources = st.builds(TroubleSources, moves, results)


def records(sources: TroubleSources) -> tuple[TroubleRecord, ...]:
    return trouble_records(sources, DEFAULT_LIMITS, NOW)


@pytest.mark.parametrize("case", CASES, ids=[c["name"] for c in CASES])
def test_cases(case: dict[str, Any]) -> None:
    found = records(sources_of(case))
    assert len(found) == len(case["expect"]), found
    for record, expected in zip(sorted(found, key=_as_listed), case["expect"], strict=True):
        for field in ("kind", "serial", "name", "next_action"):
            if field in expected:
                assert getattr(record, field) == expected[field], (field, record)
        for field in ("days_30", "days_90"):
            if field in expected:
                assert getattr(record, field) == TroubleCounts(**expected[field]), (field, record)
        assert "score" not in expected or round(record.score, 4) == expected["score"]
        assert "over" not in expected or record.over_limit is expected["over"]


def _as_listed(record: TroubleRecord) -> tuple[float, int, str, str]:
    return -record.score, -sum(astuple(record.days_90)), record.kind, record.serial


@given(all_sources)
def test_the_worst_comes_first_and_is_over_its_limit_exactly_where_a_count_has_reached_one(sources: TroubleSources) -> None:
    found = records(sources)
    assert list(found) == sorted(found, key=lambda r: -r.score)
    for record in found:
        short, long, most = (astuple(c) for c in (record.days_30, record.days_90, DEFAULT_LIMITS))
        assert all(s <= n for s, n in zip(short, long, strict=True))
        reached = any(s >= m or n >= 2 * m for s, n, m in zip(short, long, most, strict=True))
        assert record.over_limit is reached


@given(all_sources, st.text())
def test_no_sentence_is_read(sources: TroubleSources, text: str) -> None:
    said = replace(sources, transitions=tuple(replace(row, reason=text, operator=text) for row in sources.transitions))
    assert records(said) == records(sources)


@given(all_sources, results)
def test_a_further_suspicion_lowers_no_score(sources: TroubleSources, more: list[Any]) -> None:
    further = [r for r in more if r.outcome != "fail"]
    before = {(r.kind, r.node): r.score for r in records(sources)}
    after = {(r.kind, r.node): r.score for r in records(replace(sources, results=(*sources.results, *further)))}
    assert all(after[key] >= before[key] for key in before)


@given(all_sources)
def test_an_event_read_twice_counts_once(sources: TroubleSources) -> None:
    assert records(replace(sources, results=(*sources.results, *sources.results))) == records(sources)


@given(results)
def test_the_record_goes_with_the_serial_and_not_with_the_name(own: list[Any]) -> None:
    here = TroubleSources(
        (),
        [replace(r, node="n1", device="gpu1" if r.device else "") for r in own],
        (),
        [span(*_GPU, "n1", None), span(*_SYSTEM, "n1", None)],
    )
    elsewhere = TroubleSources(
        (),
        [replace(r, node="n2") for r in here.results],
        (),
        [span(*_GPU, "n2", None), span(*_SYSTEM, "n2", None), span("system", "", "system", "S2", "n1", None)],
    )
    assert [(r.serial, r.days_30, r.days_90) for r in records(here)] == [(r.serial, r.days_30, r.days_90) for r in records(elsewhere)]


_GPU = ("gpu", "0000:18:00.0", "GPU 1", "G1")
_SYSTEM = ("system", "", "system", "S1")


@given(all_sources)
def test_a_limit_of_zero_is_no_limit(sources: TroubleSources) -> None:
    counts = count(troubles(sources))
    assert score(counts, counts, TroubleCounts()) == 0
