"""A measurement among its peers: slow though above the floor."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.core.gates.judging.evidence import Evidence
from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.judging.peers import Standing, by_peers, standings
from clusterctl.core.gates.subject import subject_of
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome
from support.gates import TODAY, meeting, nccl, node, record

if TYPE_CHECKING:
    from collections.abc import Mapping


def standing_of(value: float, others: list[float]) -> Standing:
    values = dict(enumerate([value, *others]))
    return standings(values, dict.fromkeys(values, "class"))[0]


@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        (361.0, Outcome.FAIL),
        (364.0, Outcome.FAIL),
        (366.0, Outcome.WARN),
        (378.0, Outcome.WARN),
        (380.0, Outcome.PASS),
        (400.0, Outcome.PASS),
    ],
)
def test_far_below_equal_devices_fails_or_warns_and_never_above_them(value: float, outcome: Outcome) -> None:
    assert standing_of(value, [392.0, 392.4, 391.8] * 7).outcome is outcome


def test_a_class_that_spreads_by_itself_has_room() -> None:
    """GB200 nodes spread 8.8 % by binning: what is 8 % low there is one of them."""
    spread = [1000.0 + 10 * i for i in range(-9, 10)]
    assert standing_of(920.0, spread).outcome is Outcome.PASS
    assert standing_of(700.0, spread).outcome is Outcome.WARN
    assert standing_of(400.0, spread).outcome is Outcome.FAIL


@given(st.lists(st.floats(1, 1000), max_size=8), st.floats(1, 1000))
def test_fewer_than_ten_are_no_distribution(others: list[float], value: float) -> None:
    found = standing_of(value, others)
    assert found.outcome is Outcome.PASS
    assert "judged by its floor only" in found.text("GB/s")


@given(st.lists(st.floats(50, 100), min_size=10, max_size=40), st.floats(0.1, 1000))
def test_less_than_half_is_never_below_the_others_whatever_the_unit(values: list[float], factor: float) -> None:
    own = dict(enumerate(values))
    classes = dict.fromkeys(own, "class")
    found = standings(own, classes)
    failed = [key for key, one in found.items() if one.outcome is Outcome.FAIL]
    assert len(failed) <= len(values) / 2
    scaled = standings({key: value * factor for key, value in own.items()}, classes)
    assert {key: one.z for key, one in scaled.items()} == pytest.approx({key: one.z for key, one in found.items()})


def results_of(busbw: Mapping[str, float], versions: Mapping[str, str] | None = None) -> dict[str, GateResult]:
    subjects = [subject_of(node(n), TODAY) for n in busbw]
    records = [record("nccl_node", n, nccl(value), tool_version=(versions or {}).get(n, "2.17.6")) for n, value in busbw.items()]
    return {r.node: r for r in judge(subjects, records, level="standard", gates=["nccl_node"]) if r.metric == "busbw"}


def test_a_node_far_below_its_peers_fails_above_its_floor() -> None:
    found = results_of({**{f"n{i}": 520.0 + i / 10 for i in range(2, 14)}, "n1": 465.0})
    assert (found["n1"].outcome, found["n1"].rule, found["n1"].reason) == (Outcome.FAIL, "peers", GateReason.BELOW_PEERS)
    assert "below the median of its 13 peers, 520" in found["n1"].detail
    assert found["n1"].hint
    assert {r.outcome for n, r in found.items() if n != "n1"} == {Outcome.PASS}


def test_too_few_peers_are_stated_and_another_version_is_another_class() -> None:
    few = results_of({**{f"n{i}": 520.0 for i in range(2, 7)}, "n1": 465.0})
    assert {r.outcome for r in few.values()} == {Outcome.PASS}
    assert "judged by its floor only: 6 of its class" in few["n1"].detail
    others = results_of({**{f"n{i}": 520.0 for i in range(2, 14)}, "n1": 465.0}, {"n1": "2.13.8"})
    assert others["n1"].outcome is Outcome.PASS
    assert "1 of its class" in others["n1"].detail


def test_a_result_about_a_node_that_is_none_of_the_burn_in_is_left_as_it_is() -> None:
    """The gate of a site may give one."""
    subject = subject_of(node("n1"), TODAY)
    stray = GateResult("nccl_node", "n9", Outcome.PASS, "floor", value=1.0)
    assert list(by_peers([stray], Evidence({"n1": subject}, [], "standard"))) == [stray]


def test_an_hca_at_361_among_392_fails_and_a_collision_does_not() -> None:
    names = [f"n{i}" for i in range(1, 15)]
    subjects = [subject_of(node(n, rails=1), TODAY) for n in names]
    pairs = [*pairwise(names), (names[-1], names[0]), *zip(names, names[5:] + names[:5], strict=True)]
    records = [
        r
        for i, (a, b) in enumerate(pairs)
        for r in meeting(a, b, 0, i, 361.0 if "n3" in (a, b) else 362.0 if (a, b) == ("n8", "n9") else 392.0)
    ]
    found = {r.node: r for r in judge(subjects, records, level="standard", gates=["rdma_pair"])}
    assert (found["n3"].outcome, found["n3"].reason, found["n3"].value) == (Outcome.FAIL, GateReason.BELOW_PEERS, 361.0)
    assert {r.outcome for n, r in found.items() if n != "n3"} == {Outcome.PASS}
    assert "reseat or replace the cable" in found["n3"].hint
