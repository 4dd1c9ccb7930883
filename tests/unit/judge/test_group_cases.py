"""`nccl_group` by the logs of its ranks: cases of tests/cases/judge_group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.subject import subject_of
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import Outcome
from support.gates import TODAY, case_names, gates, load_case, nccl, node, record
from support.rank_logs import GPUS, rank_document

if TYPE_CHECKING:
    from clusterctl.model.gate_result import GateResult, RawRecord

FOLDER = "judge_group"
ARGV = ("mpirun", "-x", "NCCL_DEBUG_FILE=nccl_rank.%h.%p.log", "all_reduce_perf", "-g", "1")


def rank_record(name: str, first: int, case: dict[str, Any]) -> RawRecord:
    """What rank_log.py printed on a node."""
    ranks = case.get("group_size", case["nodes"] * GPUS)
    joined = case.get("joined", {}).get(name, GPUS)
    way = case.get("ways", {}).get(name, "NET/IB/3/GDRDMA")
    text = (
        "garbage"
        if name in case.get("garbled", [])
        else rank_document(name, first, joined, ranks, way, case.get("networks", {}).get(name, "IB"))
    )
    lost = case.get("lost", {}).get(name)
    more = {"error": "lost", "error_code": GateReason(lost), "exit_status": None} if lost else {}
    return record("nccl_group", name, "" if lost else text, step="ranks", argv=("python3",), peer="n1", **more)


def judged(case: dict[str, Any]) -> dict[str, set[tuple[str, ...]]]:
    names = [f"n{i}" for i in range(1, case["nodes"] + 1)]
    table = nccl(case.get("busbw", 90.0), via="", ranks=case.get("launched_ranks", len(names) * GPUS))
    more = {"error": "timed out after 600 s", "error_code": GateReason.TIMED_OUT, "exit_status": None} if case.get("timed_out") else {}
    text = "" if case.get("timed_out") else table
    launched = record("nccl_group", "n1", text, step="group", peers=tuple(names), argv=ARGV, **more)
    records = [launched, *(rank_record(name, i * GPUS, case) for i, name in enumerate(names))]
    for name, code in case.get("members", {}).items():
        lost = {"error": "lost", "error_code": GateReason(code), "exit_status": None}
        records.append(record("nccl_group", name, "", step="member", argv=("orted",), peer="n1", **lost))
    subjects = [subject_of(node(n, rails=8, declared=gates()), TODAY) for n in names]
    results = judge(subjects, records, level="standard", gates=["nccl_group"])
    return {name: {_told(r) for r in results if r.node == name and r.outcome is not Outcome.PASS} or {("pass",)} for name in names}


def _told(result: GateResult) -> tuple[str, ...]:
    assert result.hint, result
    return (result.outcome.value, result.reason.value if result.reason else "")


@pytest.mark.parametrize("name", case_names(FOLDER))
def test_the_ranks_of_every_node_are_judged(name: str) -> None:
    case = load_case(FOLDER, name)
    found = judged(case)
    for node_name, told in found.items():
        expected = case["expected"].get(node_name) or case["expected"].get("others") or case["expected"]["all"]
        if len(expected) == 1 and expected != ["pass"]:
            assert {t[0] for t in told} == set(expected), node_name
        else:
            assert told == {tuple(expected)}, node_name
