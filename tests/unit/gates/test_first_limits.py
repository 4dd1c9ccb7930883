"""First limits: learned from what a gate measured although none was declared, accepted by a person, and then judged by."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.judging.without_limit import NO_LIMIT
from clusterctl.core.gates.learning import is_first, learn_floors
from clusterctl.core.gates.registry import all_gates
from clusterctl.core.gates.subject import subject_of
from clusterctl.model.gate_result import GateResult, Outcome
from clusterctl.model.learned import Learned, NotLearned
from clusterctl.model.level import LEVELS
from clusterctl.terminal import baselines as view
from support.first_limits import MEASURED
from support.gates import CASES, SOURCE, TODAY, gates, node
from support.plain_yaml import load_yaml

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.core.gates.subject import Subject

EXAMPLES = load_yaml((CASES / "first_limits" / "cases.yml").read_text(encoding="utf-8"))
LEARNED_ON = date(2026, 1, 10)
BAD = {Outcome.FAIL, Outcome.COULD_NOT_RUN}


def subject(name: str, gate: str, baselines: Sequence[Mapping[str, Any]], *, observed: bool) -> Subject:
    """A node whose profile runs one gate, observed for as long as it has no limit."""
    declared = gates(gates_levels={level: [gate] for level in LEVELS}, gates_baselines=[{"gate": gate, **SOURCE, **b} for b in baselines])
    one = node(name, rails=1, declared=declared)
    observe = ({"gate": gate, "reason": "no limit is known"},) if observed else ()
    return subject_of(replace(one, spec=replace(one.spec, observe=observe)), TODAY)


def judged(
    case: dict[str, Any], values: Mapping[str, float], baselines: Sequence[Mapping[str, Any]], *, observed: bool
) -> tuple[GateResult, ...]:
    records = MEASURED[case["gate"]](values, case.get("each", 8))
    subjects = [subject(name, case["gate"], baselines, observed=observed) for name in values]
    return judge(subjects, records, level="standard", gates=[case["gate"]])


def learned(case: dict[str, Any], values: Mapping[str, float]) -> tuple[Learned, ...]:
    """What is learned for the gate of a case from nodes that read these values."""
    observed = case.get("observed", False)
    results = judged(case, values, case.get("baselines", ()), observed=observed)
    subjects = [subject(name, case["gate"], case.get("baselines", ()), observed=observed) for name in values]
    return learn_floors(subjects, {name: [r for r in results if r.node == name] for name in values}, LEARNED_ON)


def nodes_that_read(usual: float, count: int = 20) -> dict[str, float]:
    """They differ by a thousandth."""
    return {f"n{i}": usual * (1 + 0.001 * (i % 3 - 1)) for i in range(1, count + 1)}


def first_of(found: Sequence[Learned]) -> list[Learned]:
    return [one for one in found if is_first(one.floor)]


@pytest.mark.parametrize("case", EXAMPLES, ids=lambda c: c["name"])
def test_what_is_learned_and_accepted_judges_the_next_node(case: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    found = first_of(learned(case, nodes_that_read(case["usual"])))
    assert [(one.refusal, one.floor.value) for one in found] == [(None, 0.0)] * len(case["learned"])
    proposals = [one.proposal for one in found if one.proposal]
    assert [[p.metric, p.kind, p.value] for p in proposals] == case["learned"]
    assert all(p.source.endswith(" was declared before") for p in proposals)
    view.proposals(found)
    printed = capsys.readouterr()
    assert printed.err.count("none was declared before") == len(proposals)
    accepted = [*case.get("baselines", ()), *load_yaml(printed.out)["gates_baselines_site"]]
    for value, fails in ((case["bad"], True), (case["good"], False)):
        # One of three reads otherwise, or all, where a pair has one figure for both.
        others = value if case["gate"].startswith("rdma") else case["usual"]
        results = judged(case, {"n1": value, "n2": others, "n3": others}, accepted, observed=False)
        rule = "floor" if case["learned"][0][1] == "floor" else "upper_limit"
        held = {r.metric for r in results if r.node == "n1" and r.outcome in BAD and r.rule == rule}
        assert held == ({metric for metric, *_ in case["learned"]} if fails else set())
        assert NO_LIMIT not in {r.rule for r in results}
    again = learned({**case, "baselines": accepted, "observed": False}, nodes_that_read(case["usual"]))
    assert not first_of(again)
    assert {one.refusal for one in again if one.floor.source.endswith("before")} == {NotLearned.FLOOR_AS_HIGH}


@pytest.mark.parametrize("output", ["table", "json"])
def test_a_first_limit_is_shown_beside_what_was_measured(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = first_of(learned(EXAMPLES[0], nodes_that_read(1600.0)))
    view.measured(output, found)
    view.in_force(output, [one.proposal for one in found if one.proposal])
    printed = capsys.readouterr().out
    assert "1520" in printed
    assert ('"declared": false' if output == "json" else "none") in printed


def test_nineteen_nodes_and_two_clusters_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for values, refusal in (
        (nodes_that_read(900000.0, 19), NotLearned.FEW_NODES),
        ({**nodes_that_read(900000.0), **{f"slow{i}": 700000.0 for i in range(4)}}, NotLearned.TWO_CLUSTERS),
    ):
        found = first_of(learned(EXAMPLES[1], values))
        assert {(one.proposal, one.expected, one.refusal) for one in found} == {(None, None, refusal)}
        view.proposals(found)
    assert "4 nodes around 700000 MB/s (slow0, slow1, slow2, slow3), and 20 nodes around" in " ".join(capsys.readouterr().err.split())


def test_a_gate_that_nobody_measured_has_nothing_to_learn_from() -> None:
    assert not learn_floors([subject("n1", "gpu_stress", (), observed=False)], {}, LEARNED_ON)


def test_what_fails_for_anything_but_a_missing_limit_teaches_nothing() -> None:
    results = judged(EXAMPLES[1], nodes_that_read(900000.0), (), observed=True)
    broken = [replace(r, reason=None, observed=Outcome.FAIL) for r in results if r.rule == "baseline"]
    subjects = [subject(f"n{i}", "cpu_stream", (), observed=True) for i in range(1, 21)]
    own = {s.name: [r for r in (*results, *broken) if r.node == s.name] for s in subjects}
    assert not learn_floors(subjects, own, LEARNED_ON)


def test_profiles_without_a_limit_are_not_mixed() -> None:
    """Two kinds of machines that have neither a limit nor a value in common."""
    results = {name: one for v in (900000.0, 400000.0) for name, one in _own(f"{v:.0f}-", v).items()}
    other = [{"metric": "triad", "kind": "ceiling", "value": 800000.0, "unit": "MB/s"}]
    subjects = [subject(name, "cpu_stream", other if name.startswith("4") else (), observed=True) for name in results]
    found = [one for one in learn_floors(subjects, results, LEARNED_ON) if one.floor.metric == "copy"]
    assert sorted(one.proposal.value for one in found if one.proposal) == [380000.0, 855000.0]


def _own(prefix: str, usual: float) -> dict[str, list[GateResult]]:
    values = {prefix + name: value for name, value in nodes_that_read(usual).items()}
    results = judged(EXAMPLES[1], values, (), observed=True)
    return {name: [r for r in results if r.node == name] for name in values}


def test_counters_temperatures_and_times_of_tools_cannot_be_limited() -> None:
    """The figures of all gates of nodes and pairs: rates, and the one latency whose limit is an upper one."""
    one = subject("n1", "gpu_stress", (), observed=False)
    own = [g for g in all_gates() if g.scope in ("node", "pair")]
    found = {(f.gate, f.unit) for g in own for f in g.limited_figures(one.profile.settings_of(g))}
    assert {unit for gate, unit in found if gate != "rdma_latency"} == {"TFLOPS", "MB/s", "GB/s", "Gb/s"}
    assert {unit for gate, unit in found if gate == "rdma_latency"} == {"us"}
    assert not {gate for gate, _ in found} & {"dcgm_diag", "host_memory", "gpu_results", "vendor_diag", "load_errors"}


SUBJECTS = {gate: [subject(f"n{i}", gate, (), observed=True) for i in range(40)] for gate in ("gpu_stress", "rdma_latency")}
SHOWN = {
    "gpu_stress": GateResult("gpu_stress", "", Outcome.NOT_APPLICABLE, NO_LIMIT, "gemm", unit="TFLOPS"),
    "rdma_latency": GateResult("rdma_latency", "", Outcome.NOT_APPLICABLE, NO_LIMIT, "latency_typical", unit="us", op="ib_write_lat"),
}


@given(st.lists(st.floats(1.0, 2000.0), min_size=20, max_size=40), st.sampled_from(list(SHOWN)))
@example([1.0] * 10 + [2.0] * 9 + [3.0], "gpu_stress")
def test_a_first_limit_is_on_the_bad_side_of_its_median(values: list[float], gate: str) -> None:
    results = {f"n{i}": [replace(SHOWN[gate], node=f"n{i}", value=value)] for i, value in enumerate(values)}
    (one,) = first_of(learn_floors(SUBJECTS[gate], results, LEARNED_ON))
    if one.proposal is None:
        assert one.refusal
    elif gate == "gpu_stress":
        assert 0 < one.proposal.value <= 0.95 * one.median
    else:
        assert one.proposal.value >= 1.05 * one.median
