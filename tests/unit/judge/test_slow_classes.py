"""A class that is slow as a whole: a result of the group, and no verdict on a node."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.judging.slow_classes import class_text, slow_classes
from clusterctl.core.gates.subject import subject_of
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome
from clusterctl.model.group_findings import GroupFindings
from clusterctl.model.level import LEVELS
from clusterctl.model.version_skew import VersionNodes, VersionSkew
from clusterctl.terminal.gates import show_results
from support.gates import CASES, GROUP_FLOOR, NODE_FLOOR, RDMA_FLOOR, TODAY, gates, meeting, nccl, node, record
from support.plain_yaml import load_yaml
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.model.slow_class import SlowClass

ALL_CASES: dict[str, Any] = load_yaml((CASES / "slow_classes" / "cases.yml").read_text(encoding="utf-8"))


def judged(busbw: Sequence[float], expected: Mapping[str, Any], *, floor: bool = True) -> tuple[Sequence[SlowClass], Sequence[GateResult]]:
    entry = {**NODE_FLOOR, "kind": "expected", **expected}
    declared = gates(gates_baselines=[RDMA_FLOOR, GROUP_FLOOR, *([NODE_FLOOR] if floor else []), entry])
    subjects = [subject_of(node(f"n{i}", declared=declared), TODAY) for i in range(1, len(busbw) + 1)]
    records = [record("nccl_node", s.name, nccl(value), tool_version="2.17.6") for s, value in zip(subjects, busbw, strict=True)]
    results = judge(subjects, records, level="standard", gates=["nccl_node"])
    return slow_classes(subjects, results), results


@pytest.mark.parametrize("name", ALL_CASES)
def test_the_median_of_a_class_against_its_baseline(name: str) -> None:
    case = ALL_CASES[name]
    found, results = judged(case["busbw"], case["expected"], floor=case.get("floor", True))
    assert [[len(c.nodes), pytest.approx(c.median)] for c in found] == ([case["slow"]] if case["slow"] else [])
    assert GateReason.CLASS_SLOW not in {r.reason for r in results}


@pytest.mark.parametrize("case", load_yaml((CASES / "slow_classes" / "profiles.yml").read_text(encoding="utf-8")), ids=str)
def test_what_a_delivered_profile_expects(case: dict[str, Any]) -> None:
    lists = load_yaml((ROOT / "inventory/common/group_vars" / case["group"] / "gates.yml").read_text(encoding="utf-8"))
    own = [b for key, entries in lists.items() if key.startswith("gates_baselines") for b in entries if b["gate"] == case["gate"]]
    assert any(b["kind"] == "expected" for b in own)
    levels = {level: [case["gate"]] for level in LEVELS}
    subjects = [subject_of(node(f"n{i}", declared=gates(gates_levels=levels, gates_baselines=own)), TODAY) for i in range(12)]
    blank = GateResult(
        case["gate"], "", Outcome.PASS, "floor", case["metric"], value=case["reads"], unit=case["unit"], op=case.get("op", "")
    )
    found = slow_classes(subjects, [replace(blank, node=s.name) for s in subjects])
    assert [c.expected for c in found] == ([case["expected"]] if case["expected"] else [])


def test_no_node_of_a_slow_class_is_warned_and_the_group_says_what_is_slow(capsys: pytest.CaptureFixture[str]) -> None:
    (slow,), results = judged([500.0] * 12, {"value": 540.0, "source": "the first rack"})
    assert {r.outcome for r in results if r.metric == "busbw"} == {Outcome.PASS}
    text = class_text(slow)
    assert "the median of 12 values on 12 nodes, 500 GB/s, is 7.4 % below the expected 540 GB/s (the first rack; z -" in text
    assert slow.reason is GateReason.CLASS_SLOW
    show_results("burnin", "table", {"run": "r", "directory": "d"}, results, list(slow.nodes), group=GroupFindings((slow,)))
    printed = " ".join(capsys.readouterr().out.split())
    assert f"warning: {text}" in printed
    assert "12 nodes: 12 passed, 0 did not" in printed


def test_the_hcas_of_pairs_are_a_class_by_their_line_rate() -> None:
    expected = {**RDMA_FLOOR, "kind": "expected", "value": 392.0}
    declared = gates(gates_baselines=[*gates()["gates_baselines"], expected])
    names = [f"n{i}" for i in range(1, 13)]
    subjects = [subject_of(node(n, rails=1, declared=declared), TODAY) for n in names]
    pairs = [*pairwise(names), (names[-1], names[0])]
    records = [r for i, (a, b) in enumerate(pairs) for r in meeting(a, b, 0, i, 371.0)]
    results = judge(subjects, records, level="standard", gates=["rdma_pair"])
    (slow,) = slow_classes(subjects, results)
    assert (slow.device_class.rates_gbps, slow.values, slow.median, slow.op) == ((400.0,), 12, 371.0, "ib_write_bw")
    assert {r.outcome for r in results} == {Outcome.PASS}


@given(st.lists(st.floats(465, 600), min_size=10, max_size=30))
def test_a_class_whose_median_is_expected_is_never_slow(busbw: list[float]) -> None:
    found, _ = judged(busbw, {"value": sorted(busbw)[len(busbw) // 2 - 1] / 1.001})
    assert found == ()


def test_results_of_groups_are_what_the_schema_says(capsys: pytest.CaptureFixture[str]) -> None:
    slow, results = judged([500.0] * 12, {"value": 540.0})
    skew = VersionSkew("su1", "nccl_node", "nccl_tests", (VersionNodes("2.17.6", ("n1", "n2")), VersionNodes("2.13.8", ("n3",))))
    body = {
        "run": "r",
        "directory": "d",
        "level": "standard",
        "gates": ["nccl_node"],
        "pair_coverage": None,
        "not_proven": {"nccl_node": "the network"},
    }
    show_results("burnin", "json", body, results, ["n1"], group=GroupFindings(tuple(slow), (skew,)))
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, json.loads((ROOT / "docs" / "reference" / "schemas" / "judge.schema.json").read_text(encoding="utf-8")))
    assert document["slow_classes"][0]["median"] == 500.0
    assert document["version_skews"][0]["versions"][1]["nodes"] == ["n3"]
