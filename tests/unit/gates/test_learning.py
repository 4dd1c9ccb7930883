"""Floors that measurements support: never lower than the one in force, never above the line rate, never from two classes."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.core.gates.learning import learn_floors
from clusterctl.core.gates.subject import subject_of
from clusterctl.model.gate_result import BaselineKind, GateResult, Outcome
from clusterctl.model.learned import DeviceClass, Learned, NotLearned
from clusterctl.terminal import baselines as view
from support.gates import RDMA_FLOOR, TODAY, gates, node
from support.plain_yaml import load_yaml

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LEARNED_ON = date(2026, 11, 25)


def result(name: str, value: float, outcome: Outcome = Outcome.PASS, version: str = "6.0") -> GateResult:
    of_pair = {"metric": "bandwidth_average", "unit": "Gb/s", "op": "ib_write_bw", "tool_version": version, "device": "mlx5_0"}
    return GateResult("rdma_pair", name, outcome, "floor", value=value, **of_pair)  # type: ignore[arg-type]


def learned_of(results: Mapping[str, GateResult], *more: Mapping[str, object]) -> tuple[Learned, ...]:
    """What is learned of the floor of rdma_pair, with `more` baselines in the profile."""
    declared = gates(gates_baselines=[*gates()["gates_baselines"], *more])
    subjects = [subject_of(node(n, rails=1, declared=declared), TODAY) for n in results]
    found = learn_floors(subjects, {name: [one] for name, one in results.items()}, LEARNED_ON)
    return tuple(one for one in found if one.floor.gate == "rdma_pair")


def learned(values: Sequence[float], outcome: Outcome = Outcome.PASS) -> Learned:
    (found,) = learned_of({f"n{i}": result(f"n{i}", value, outcome) for i, value in enumerate(values)})
    return found


def test_a_floor_rests_on_median_and_spread_and_says_so() -> None:
    found = learned([390.0, 392.0, 394.0] * 8).proposal
    assert found is not None
    # 0.95 x 392 = 372.4; 392 - 6 x 2 = 380: the lower one.
    assert (found.value, found.unit, found.n, found.spread, found.date, found.expires) == (
        372.4,
        "Gb/s",
        24,
        0.0051,
        "2026-11-25",
        "2027-11-25",
    )
    assert found.source == "clusterctl baseline learn: median 392 of 24 nodes; above tests"


def test_nineteen_nodes_are_no_class() -> None:
    found = learned([392.0] * 19)
    assert found.proposal is None
    assert found.expected is None
    assert found.refusal is NotLearned.FEW_NODES


def test_nodes_that_do_not_pass_teach_nothing() -> None:
    assert learned([392.0] * 30, Outcome.FAIL).refusal is NotLearned.NO_VALUES
    observed = {f"n{i}": replace(result(f"n{i}", 392.0, Outcome.WARN), observed=Outcome.FAIL) for i in range(30)}
    assert [one.refusal for one in learned_of(observed)] == [NotLearned.NO_VALUES]


def test_two_clusters_are_refused_and_both_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    found = learned([392.0] * 25 + [371.0, 370.0, 372.0])
    assert (found.proposal, found.expected, found.refusal) == (None, None, NotLearned.TWO_CLUSTERS)
    assert [(len(c.nodes), c.centre) for c in found.clusters] == [(3, 371.0), (25, 392.0)]
    assert found.clusters[0].nodes == ("n25", "n26", "n27")
    view.proposals([found])
    printed = " ".join(capsys.readouterr().err.split())
    assert "the class is two: 3 nodes around 371 Gb/s (n25, n26, n27), and 25 nodes around 392 Gb/s" in printed
    assert "of 400 Gb/s, 6.0" in printed


def test_what_the_class_reads_is_learned_beside_its_floor_even_where_that_is_as_high() -> None:
    found = learned([364.0] * 24)
    assert (found.proposal, found.refusal) == (None, NotLearned.FLOOR_AS_HIGH)
    assert found.expected is not None
    assert (found.expected.kind, found.expected.value, found.expected.n, found.expected.spread) == (BaselineKind.EXPECTED, 364.0, 24, 0.005)
    assert found.expected.versions == {"perftest": "6.0"}


def test_versions_of_a_tool_are_classes_of_their_own_and_the_lowest_floor_holds_for_all() -> None:
    fast = {f"a{i}": result(f"a{i}", 396.0, version="6.1") for i in range(1, 21)}
    slow = {f"b{i}": result(f"b{i}", 388.0, version="6.0") for i in range(21, 41)}
    lower, upper = learned_of(fast | slow)
    assert (lower.device_class, upper.device_class) == (DeviceClass("", (400.0,), "6.0"), DeviceClass("", (400.0,), "6.1"))
    assert lower.proposal is not None
    assert lower.proposal.value == 368.6
    assert (upper.proposal, upper.refusal) == (None, NotLearned.LOWER_CLASS)
    alone = learned_of(fast | {f"c{i}": result(f"c{i}", 388.0, version="6.0") for i in range(41, 60)})
    assert [(one.refusal, len(one.nodes)) for one in alone] == [(NotLearned.FEW_NODES, 19), (None, 20)]


def test_the_highest_floor_in_force_counts_and_a_ceiling_is_no_floor() -> None:
    results = {f"n{i}": result(f"n{i}", 392.0) for i in range(1, 25)}
    (above,) = learned_of(results, {**RDMA_FLOOR, "value": 380.0})
    assert (above.floor.limit, above.refusal) == (380.0, NotLearned.FLOOR_AS_HIGH)
    (capped,) = learned_of(results, {**RDMA_FLOOR, "kind": "ceiling", "value": 365.0})
    assert capped.proposal is not None
    assert capped.expected is not None
    assert (capped.proposal.value, capped.expected.value) == (365.0, 365.0)


def test_a_value_of_another_operation_is_none_of_a_floor() -> None:
    results = {f"n{i}": result(f"n{i}", 392.0) for i in range(1, 25)}
    other = learned_of(results, {**RDMA_FLOOR, "op": "ib_read_bw"})
    assert {one.floor.op: one.refusal for one in other} == {"": None, "ib_read_bw": NotLearned.NO_VALUES}


@given(st.lists(st.floats(365, 399), min_size=20, max_size=60))
def test_a_learned_floor_is_above_the_one_in_force_below_the_line_rate_and_reached_by_most(values: list[float]) -> None:
    found = learned(values)
    if found.proposal is None:
        assert found.refusal
        return
    assert 360 < found.proposal.value <= min(400.0, 0.95 * found.median)
    assert sum(value >= found.proposal.value for value in values) >= len(values) / 2


def test_only_what_a_person_accepts_changes_a_profile(capsys: pytest.CaptureFixture[str]) -> None:
    found = (learned([392.0] * 24), learned([392.0] * 3))
    view.proposals(found)
    printed = capsys.readouterr()
    entries = load_yaml(printed.out)["gates_baselines_site"]
    declared = gates(gates_baselines=[*gates()["gates_baselines"], *entries])
    found_now = subject_of(node("n1", declared=declared), TODAY).profile.for_gate("rdma_pair")
    assert [(b.kind, b.value) for b in found_now] == [("floor", 360.0), ("floor", 372.4), ("expected", 392.0)]
    assert "3 nodes passed, 20 are needed" in printed.err
    assert "nothing has changed" in printed.err


@pytest.mark.parametrize("output", ["table", "json"])
def test_floors_are_shown_beside_what_was_measured(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = (learned([392.0] * 24),)
    view.in_force(output, [one.floor for one in found])
    view.measured(output, found)
    printed = capsys.readouterr().out
    assert "rdma_pair" in printed
    assert "372.4" in printed


@pytest.mark.parametrize(
    ("own", "shown"),
    [
        ({}, " -  "),
        ({"nodes": 2}, "2 nodes"),
        ({"nodes": 1}, "1 node "),
        ({"nodes_min": 3}, "3 or more nodes"),
        ({"nodes_max": 8}, "1 to 8 nodes"),
        ({"nodes_min": 3, "nodes_max": 8, "op": "scratch"}, "3 to 8 nodes, scratch"),
        ({"sku": "H100", "fabric": "ib", "size_bytes": 8}, "H100, ib, messages of 8 bytes"),
        ({"versions": {"nccl": "2.28"}}, "nccl 2.28"),
    ],
    ids=str,
)
def test_two_floors_of_a_metric_differ_by_what_they_hold_for(own: dict[str, Any], shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    view.in_force("table", [replace(learned([392.0] * 24).floor, **own)])
    assert shown in capsys.readouterr().out.replace("\n", " ")
