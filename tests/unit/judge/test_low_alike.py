"""Most nodes of a class below a floor by as much: they fail, and none of them is held to be the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl.core.admission.decide import gate_reasons
from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.subject import subject_of
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import Outcome
from clusterctl.model.verdict import ReasonKind
from support.gates import NODE_FLOOR, TODAY, gates, nccl, node, record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.model.gate_result import GateResult

R = GateReason
FLOOR = float(str(NODE_FLOOR["value"]))
GOOD, LOW, OWN = FLOOR + 20.0, FLOOR - 10.0, FLOOR - 100.0


def results_of(busbw: Sequence[float]) -> list[GateResult]:
    """The results of nccl_node on nodes that read this, by node."""
    declared = gates(gates_baselines=[*(b for b in gates()["gates_baselines"] if b["gate"] != "nccl_node"), NODE_FLOOR])
    subjects = [subject_of(node(f"n{i:02d}", declared=declared), TODAY) for i in range(len(busbw))]
    records = [record("nccl_node", s.name, nccl(value), tool_version="2.17.6") for s, value in zip(subjects, busbw, strict=True)]
    judged = judge(subjects, records, level="standard", gates=["nccl_node"])
    return sorted((r for r in judged if r.metric == "busbw"), key=lambda r: r.node)


@pytest.mark.parametrize(
    ("busbw", "shared", "own"),
    [
        pytest.param([LOW] * 18, 18, 0, id="a switch tray of a rack"),
        pytest.param([LOW] * 10 + [GOOD] * 8, 10, 0, id="most of them"),
        pytest.param([LOW] * 9 + [GOOD] * 9, 0, 9, id="half of them"),
        pytest.param([LOW] * 3, 3, 0, id="three of three"),
        pytest.param([LOW] * 2, 0, 2, id="two of two"),
        pytest.param([LOW], 0, 1, id="a node alone"),
        pytest.param([LOW] * 17 + [OWN], 17, 1, id="one is far below the others that are low"),
        pytest.param([GOOD] * 18, 0, 0, id="none"),
    ],
)
def test_who_is_held_to_be_the_reason(busbw: Sequence[float], shared: int, own: int) -> None:
    results = results_of(busbw)
    failed = [r for r in results if r.outcome is Outcome.FAIL]
    assert len(failed) == shared + own, "all of them fail"
    assert sum(r.reason is R.SHARED_FAULT for r in failed) == shared
    assert sum(r.reason in (R.BELOW_FLOOR, R.BELOW_PEERS) for r in failed) == own


def test_the_reason_that_keeps_it_out_is_not_its_own() -> None:
    results = results_of([LOW] * 18)
    (reason,) = gate_reasons("n00", results, ["nccl_node"])
    assert reason.kind is ReasonKind.GATE_SHARED
    assert reason.code == "gate.nccl_node"
    assert "as are 18 of 18 nodes of its class" in reason.text
    assert "switch trays" in reason.hint


def test_one_that_is_low_by_itself_is_kept_out_for_that() -> None:
    (reason,) = gate_reasons("n17", results_of([LOW] * 17 + [OWN]), ["nccl_node"])
    assert reason.kind is ReasonKind.GATE_FAILED
