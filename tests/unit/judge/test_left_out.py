"""Why a node took no part in the group run: the first thing that was not good about it, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.subject import subject_of
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import Outcome
from support.gates import TODAY, nccl, node, record


def test_a_node_left_out_of_the_group_run_is_told_why() -> None:
    subjects = [subject_of(node(n), TODAY) for n in ("n1", "n2", "n3")]
    runs = [record("nccl_node", n, nccl(300.0 if n == "n2" else 477.0)) for n in ("n1", "n2", "n3")]
    runs.append(
        record("nccl_group", "n1", nccl(90.0, via="NET/IB/0/GDRDMA", ranks=16), peers=("n1", "n3"), argv=("mpirun", "all_reduce_perf"))
    )
    found = judge(subjects, runs, level="standard", gates=["nccl_node", "nccl_group"])
    left = [r for r in found if r.gate == "nccl_group" and r.node == "n2"]
    assert [(r.outcome, r.detail) for r in left] == [(Outcome.COULD_NOT_RUN, "left out of the group run: it did not pass nccl_node")]
    assert {r.outcome for r in found if r.node == "n3"} == {Outcome.PASS}


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        (
            GateReason.NODE_UNREACHABLE,
            (GateReason.NODE_UNREACHABLE, "no record came back: node unreachable", "check network, SSH and power"),
        ),
        (
            GateReason.NOT_INSTALLED,
            (GateReason.LEFT_OUT, "left out of the group run: nccl_node could not run", "see why nccl_node could not run"),
        ),
    ],
)
def test_what_could_not_run_found_nothing_that_can_be_repaired(reason: GateReason, expected: tuple[GateReason, str, str]) -> None:
    subjects = [subject_of(node(n), TODAY) for n in ("n1", "n2", "n3")]
    runs = [record("nccl_node", n, nccl(477.0)) for n in ("n1", "n3")]
    runs.append(replace(record("nccl_node", "n2", ""), exit_status=None, error="no record came back: node unreachable", error_code=reason))
    runs.append(
        record("nccl_group", "n1", nccl(90.0, via="NET/IB/0/GDRDMA", ranks=16), peers=("n1", "n3"), argv=("mpirun", "all_reduce_perf"))
    )
    found = judge(subjects, runs, level="standard", gates=["nccl_node", "nccl_group"])
    (left,) = [r for r in found if r.gate == "nccl_group" and r.node == "n2"]
    assert (left.outcome, left.reason, left.detail) == (Outcome.COULD_NOT_RUN, *expected[:2])
    assert left.hint.startswith(expected[2])
    assert "repair" not in left.hint
