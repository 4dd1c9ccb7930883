"""Versions that differ inside a scalable unit are a result of the group."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.judging.version_skew import skew_text, version_skews
from clusterctl.core.gates.subject import subject_of
from clusterctl.model.gate_result import Outcome
from clusterctl.model.group_findings import GroupFindings
from clusterctl.model.node import Place
from clusterctl.model.version_skew import VersionNodes
from clusterctl.terminal.gates import show_results
from support.gates import TODAY, nccl, node, record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.model.gate_result import GateResult
    from clusterctl.model.version_skew import VersionSkew


def skews(versions: Mapping[str, str], units: Mapping[str, str] | None = None) -> tuple[Sequence[VersionSkew], Sequence[GateResult]]:
    subjects = [subject_of(replace(node(n), place=Place(su=(units or {}).get(n, ""))), TODAY) for n in versions]
    # Where the tool names no version, NCCL names its own.
    unnamed = nccl(477.0).replace("NCCL version", "NCCL")
    records = [record("nccl_node", n, unnamed, tool_version=version) for n, version in versions.items()]
    results = judge(subjects, records, level="standard", gates=["nccl_node"])
    return version_skews({s.name: s.node.place.su for s in subjects}, results), results


def test_the_versions_of_a_unit_are_shown_with_their_nodes(capsys: pytest.CaptureFixture[str]) -> None:
    (found,), results = skews({"n1": "2.17.6", "n2": "2.13.8", "n3": "2.17.6"}, dict.fromkeys(("n1", "n2", "n3"), "su1"))
    assert found.versions == (VersionNodes("2.17.6", ("n1", "n3")), VersionNodes("2.13.8", ("n2",)))
    assert {r.outcome for r in results} == {Outcome.PASS}
    text = skew_text(found)
    assert "different versions of nccl_tests in scalable unit su1" in text
    assert "2.17.6 on n1, n3; 2.13.8 on n2" in text
    show_results(
        "burnin", "table", {"run": "r", "directory": "d"}, results, ["n1", "n2", "n3"], group=GroupFindings(version_skews=(found,))
    )
    assert f"warning: {text}" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("versions", "units"),
    [
        ({"n1": "2.17.6", "n2": "2.17.6"}, {}),
        ({"n1": "2.17.6", "n2": "2.13.8"}, {"n1": "su1", "n2": "su2"}),
        ({"n1": "2.17.6", "n2": ""}, {}),
        ({}, {}),
    ],
)
def test_equal_versions_other_units_and_unknown_versions_are_no_skew(versions: dict[str, str], units: dict[str, str]) -> None:
    assert skews(versions, units)[0] == ()


@given(st.dictionaries(st.from_regex(r"n[1-9][0-9]?", fullmatch=True), st.sampled_from(["1", "2", "3"]), max_size=12))
def test_every_node_of_a_skew_is_named_once(versions: dict[str, str]) -> None:
    found, _ = skews(versions)
    assert len(found) == (len(set(versions.values())) > 1)
    for one in found:
        assert sorted(n for v in one.versions for n in v.nodes) == sorted(versions)
        assert len(one.versions[0].nodes) == max(len(v.nodes) for v in one.versions)
