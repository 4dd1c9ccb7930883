"""Floors that measurements support: never lower than the one in force, never above the line rate, never from two classes."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.core.gates.learning import Learned, learn_floors
from clusterctl.core.gates.subject import subject_of
from clusterctl.model.gate_result import GateResult, Outcome
from clusterctl.terminal import baselines as view
from support.gates import RDMA_FLOOR, TODAY, gates, node

if TYPE_CHECKING:
    from collections.abc import Sequence

LEARNED_ON = date(2026, 11, 25)


def result(name: str, value: float, outcome: Outcome = Outcome.PASS, gate: str = "rdma_pair", device: str = "mlx5_0") -> GateResult:
    of_floor = {"metric": "bandwidth_average", "source": "tests", "limit": 360.0, "unit": "Gb/s"}
    return GateResult(gate, name, outcome, "floor", device=device, value=value, **of_floor)  # type: ignore[arg-type]


def learned(values: Sequence[float], outcome: Outcome = Outcome.PASS) -> Learned:
    names = [f"n{i}" for i in range(len(values))]
    declared = gates(gates_baselines=[RDMA_FLOOR, *gates()["gates_baselines"][1:]])
    subjects = [subject_of(node(n, rails=1, declared=declared), TODAY) for n in names]
    results = {n: [result(n, v, outcome)] for n, v in zip(names, values, strict=True)}
    return next(one for one in learn_floors(subjects, results, LEARNED_ON) if one.floor.gate == "rdma_pair")


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
    assert found.why_not == "19 nodes passed, 20 are needed"


def test_nodes_that_do_not_pass_teach_nothing() -> None:
    assert learned([392.0] * 30, Outcome.FAIL).why_not == "no node of the class has passed the gate"


def test_two_classes_under_one_name_are_refused_and_shown() -> None:
    found = learned([392.0] * 25 + [371.0, 370.0, 372.0])
    assert found.proposal is None
    assert "3 of 28 nodes are a cluster of their own below 392 Gb/s: n25, n26, n27" in found.why_not


@given(st.lists(st.floats(365, 399), min_size=20, max_size=60))
def test_a_learned_floor_is_above_the_one_in_force_below_the_line_rate_and_reached_by_most(values: list[float]) -> None:
    found = learned(values)
    if found.proposal is None:
        assert found.why_not
        return
    assert 360 < found.proposal.value <= min(400.0, 0.95 * found.median)
    assert sum(value >= found.proposal.value for value in values) >= len(values) / 2


def test_only_what_a_person_accepts_changes_a_profile(capsys: pytest.CaptureFixture[str]) -> None:
    found = (learned([392.0] * 24), learned([392.0] * 3))
    view.proposals(found)
    printed = capsys.readouterr()
    (entry,) = yaml.safe_load(printed.out)["gates_baselines_site"]
    declared = gates(gates_baselines=[*gates()["gates_baselines"], entry])
    assert [b.value for b in subject_of(node("n1", declared=declared), TODAY).profile.for_gate("rdma_pair")] == [360.0, 372.4]
    assert "3 nodes passed, 20 are needed" in printed.err
    assert "nothing has changed" in printed.err


@pytest.mark.parametrize("output", ["table", "json"])
def test_floors_are_shown_beside_what_was_measured(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = (learned([392.0] * 24),)
    view.in_force(output, found)
    view.measured(output, found)
    printed = capsys.readouterr().out
    assert "rdma_pair" in printed
    assert "372.4" in printed
