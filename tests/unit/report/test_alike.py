"""Rows that are alike are one row with its places; nothing is lost by it, and one node does not hide the next."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.report.alike import EvidenceRow, alike, first_of_same_nodes, pattern
from clusterctl_validators.finding import Outcome, Severity

NAMES = st.sampled_from(["r12-n01", "r12-n02", "r13-n01"])
ROWS = st.builds(
    EvidenceRow,
    outcome=st.sampled_from(Outcome),
    topic=st.sampled_from(["rdma_pair", "hugepages"]),
    what=st.sampled_from(["rdma_pair floor", "hugepages.pages[1G].node0.running", "hugepages.pages[2M].node1.running"]),
    node=NAMES,
    device=st.sampled_from(["", "mlx5_0", "mlx5_1"]),
    severity=st.sampled_from([None, *Severity]),
    expected=st.sampled_from(["16", ">= 180 Gb/s"]),
    found=st.text(max_size=5),
    hint=st.sampled_from(["", "check the cable", "check mlx5_0 of r12-n01"]),
    value=st.none() | st.floats(0, 400),
)
SLOW = EvidenceRow(
    Outcome.FAIL,
    "rdma_pair",
    "rdma_pair floor bandwidth_average",
    "r12-n04",
    "mlx5_3",
    expected=">= 180 Gb/s",
    found="98.1 of 200 Gb/s",
    hint="check the cable of mlx5_3 in r12-n04",
    value=98.1,
    unit="Gb/s",
)


def other(node: str, device: str, value: float) -> EvidenceRow:
    return replace(
        SLOW,
        node=node,
        device=device,
        value=value,
        found=f"{value} of 200 Gb/s",
        hint=SLOW.hint.replace("mlx5_3", device).replace("r12-n04", node),
    )


@given(st.lists(ROWS, max_size=30))
def test_every_row_is_in_one_group_and_groups_are_told_apart(rows: list[EvidenceRow]) -> None:
    groups = alike(rows)
    assert sorted((r for g in groups for r in g.rows), key=repr) == sorted(rows, key=repr)
    assert len({g.first.likeness for g in groups}) == len(groups)
    assert all({r.outcome for r in g.rows} == {g.first.outcome} for g in groups)
    assert all(g.found == r.found for g in groups for r in g.rows if g.count == 1)


def test_one_fault_of_many_nodes_is_one_row_with_a_range_and_an_action_that_names_its_place() -> None:
    (group,) = alike([SLOW, other("r12-n05", "mlx5_0", 92.0), other("r13-n01", "mlx5_3", 96.5)])
    assert group.nodes == {"r12-n04": ("mlx5_3",), "r12-n05": ("mlx5_0",), "r13-n01": ("mlx5_3",)}
    assert group.found == "92 to 98.1 Gb/s"
    assert group.hint == "check the cable of mlx5_3 in r12-n04 (the others likewise)"


def test_an_action_that_does_not_name_its_node_gets_it() -> None:
    rows = [replace(r, hint=f"see log {i}{r.node[-3:]}") for i, r in enumerate([SLOW, other("r12-n05", "mlx5_3", 92.0)])]
    assert {g.hint for g in alike(replace(r, hint=r.node) for r in rows)} == {"r12-n04 (the others likewise)"}
    assert [g.hint for g in alike(rows)] == ["see log 0n04", "see log 1n05"]


@pytest.mark.parametrize(
    "differs",
    [
        replace(SLOW, node="r12-n05", expected=">= 190 Gb/s"),
        replace(SLOW, node="r12-n05", source="a measurement"),
        replace(SLOW, node="r12-n05", run="20260101-000000-burnin-aaaa"),
        replace(SLOW, node="r12-n05", topic="rdma_pair_gpu"),
        replace(SLOW, node="r12-n05", simulated=True),
    ],
)
def test_rows_that_differ_in_what_matters_are_two(differs: EvidenceRow) -> None:
    assert len(alike([SLOW, differs])) == 2
    assert len(alike([SLOW, replace(SLOW, node="r12-n05", found="1 Gb/s", hint=SLOW.hint.replace("n04", "n05"))])) == 1


def test_the_most_frequent_findings_are_told_with_their_counts() -> None:
    rows = [replace(SLOW, node=f"n{i}", value=None, found="7" if i < 3 else f"x{i}", hint="") for i in range(8)]
    (group,) = alike(rows)
    assert group.found == "7 (3); x3 (1); x4 (1); 3 others"


def test_worst_first() -> None:
    check = EvidenceRow(Outcome.FAIL, "kernel", "kernel.motd", "r12-n01", severity=Severity.MINOR)
    rows = [
        replace(check, outcome=Outcome.WARN, severity=Severity.CRITICAL),
        replace(check, severity=Severity.MINOR),
        replace(check, severity=Severity.CRITICAL),
        replace(check, outcome=Outcome.COULD_NOT_RUN, severity=Severity.CRITICAL),
        SLOW,
    ]
    assert [(g.first.outcome, g.first.severity) for g in alike(rows)] == [
        (Outcome.FAIL, None),
        (Outcome.FAIL, Severity.CRITICAL),
        (Outcome.FAIL, Severity.MINOR),
        (Outcome.COULD_NOT_RUN, Severity.CRITICAL),
        (Outcome.WARN, Severity.CRITICAL),
    ]


def test_a_node_with_hundreds_of_failures_does_not_hide_the_next() -> None:
    broken = [EvidenceRow(Outcome.FAIL, "kernel", f"kernel.{'abcdefghijklmnopqrstuvwxyz'[i]}.running", "r12-n01") for i in range(20)]
    shown, others = first_of_same_nodes(alike([*broken, SLOW]), 4)
    assert [g.first.node for g in shown].count("r12-n01") == 4
    assert "r12-n04" in [g.first.node for g in shown]
    assert len(shown) + len(others) == 21


@pytest.mark.parametrize(
    ("name", "general"),
    [
        ("hugepages.pages[1G].node0.running", "hugepages.pages[*].node*.running"),
        ("kernel.release.running", "kernel.release.running"),
        ("rdma_pair floor p50", "rdma_pair floor p50"),
    ],
)
def test_a_pattern_leaves_out_the_items_of_a_check(name: str, general: str) -> None:
    assert pattern(name) == general
