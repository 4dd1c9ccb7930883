from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.planning.step import Obstacle
from clusterctl.core.gates.subject import subject_of
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import Outcome
from support.gates import ALL, TODAY, meeting, nccl, node, record

if TYPE_CHECKING:
    from clusterctl.model.gate_result import RawRecord

NAMES = ("n1", "n2", "n3")


def evidence() -> list[RawRecord]:
    tests = [
        {"name": t, "results": [{"entity_group": "GPU", "entity_id": i, "status": "Pass"} for i in range(8)]}
        for t in ("software", "memory", "pcie")
    ]
    diag = json.dumps({"DCGM Diagnostic": {"test_categories": [{"category": "x", "tests": tests}]}})
    records = [record("dcgm_diag", n, diag) for n in NAMES] + [record("nccl_node", n, nccl(477.0)) for n in NAMES]
    records += [r for i, (a, b) in enumerate(combinations(NAMES, 2)) for r in meeting(a, b, 0, i, 392.0)]
    return [
        *records,
        record("nccl_group", "n1", nccl(60.0, via="NET/IB/0/GDRDMA", ranks=24), peers=NAMES, argv=("mpirun", "all_reduce_perf")),
    ]


def test_complete_good_evidence_passes_everywhere() -> None:
    found = judge([subject_of(node(n, rails=1), TODAY) for n in NAMES], evidence(), level="standard", gates=ALL)
    assert {r.outcome for r in found} == {Outcome.PASS}
    assert {(r.gate, r.node) for r in found} == {(g, n) for g in ALL for n in NAMES}


@settings(max_examples=60, deadline=None)
@example({6, 7, 8, 9}, "drop")
@given(st.sets(st.integers(0, 12), min_size=1, max_size=4), st.sampled_from(["drop", "empty", "garbage", "cut", "exit", "error"]))
def test_evidence_taken_away_never_gives_a_pass(which: set[int], how: str) -> None:
    records = []
    touched = set()
    for index, each in enumerate(evidence()):
        if index not in which:
            records.append(each)
            continue
        touched |= {(each.gate, each.node)}
        more: dict[str, dict[str, Any]] = {
            "drop": {},
            "empty": {"stdout": ""},
            "garbage": {"stdout": "Killed"},
            "cut": {"stdout": each.stdout[: len(each.stdout) // 2]},
            "exit": {"exit_status": 139},
            "error": {"exit_status": None, "error": "timed out after 9 s"},
        }
        if how != "drop":
            records.append(replace(each, **more[how]))
    found = judge([subject_of(node(n, rails=1), TODAY) for n in NAMES], records, level="standard", gates=ALL)
    assert {(r.gate, r.node) for r in found} == {(g, n) for g in ALL for n in NAMES}
    for gate, name in touched - {("rdma_pair", n) for n in NAMES}:
        assert not all(r.outcome is Outcome.PASS for r in found if (r.gate, r.node) == (gate, name))
    if any(gate == "rdma_pair" for gate, _ in touched):
        assert any(r.outcome is Outcome.COULD_NOT_RUN for r in found if r.gate == "rdma_pair")
    assert not [r for r in found if r.outcome is Outcome.FAIL]
    assert all((r.reason is None) == (r.outcome is Outcome.PASS) for r in found)


def test_a_node_with_no_evidence_at_all_has_a_result_for_every_gate() -> None:
    found = judge(
        [subject_of(node("n1"), TODAY)],
        [],
        level="standard",
        gates=ALL,
        impossible={("rdma_pair", "n1"): Obstacle(GateReason.NO_PARTNER, "needs a second", "add one")},
    )
    assert {(r.gate, r.outcome) for r in found} == {(g, Outcome.COULD_NOT_RUN) for g in ALL}
    reason = next((r.reason, r.detail, r.hint) for r in found if r.gate == "rdma_pair")
    assert reason == (GateReason.NO_PARTNER, "needs a second", "add one")


def test_gates_that_the_level_does_not_have_are_not_judged() -> None:
    found = judge([subject_of(node(n, rails=1), TODAY) for n in NAMES], evidence(), level="quick", gates=ALL)
    assert {r.gate for r in found} == {"dcgm_diag"}


def test_simulated_evidence_says_so_in_every_result() -> None:
    records = [replace(r, simulated=True) for r in evidence()]
    found = judge([subject_of(node(n, rails=1), TODAY) for n in NAMES], records, level="standard", gates=ALL)
    assert all(r.simulated for r in found)


def test_the_same_records_give_the_same_verdict_ten_times() -> None:
    subjects = [subject_of(node(n, rails=1), TODAY) for n in NAMES]
    assert len({judge(subjects, evidence(), level="standard", gates=ALL) for _ in range(10)}) == 1
