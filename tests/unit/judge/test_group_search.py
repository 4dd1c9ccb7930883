"""What a search in a bad group makes of its results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.subject import subject_of
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome, RawRecord
from support.gates import TODAY, nccl, nodes, record

if TYPE_CHECKING:
    from collections.abc import Sequence

GOOD, BAD = 80.0, 20.0  # the floor is 50
ALL = ("n1", "n2", "n3", "n4")


def run(step: str, peers: Sequence[str], busbw: float, minute: int = 0) -> RawRecord:
    text = nccl(busbw, via="NET/IB/0/GDRDMA", ranks=8 * len(peers))
    return record("nccl_group", peers[0], text, step=step, peers=tuple(peers), started_at=f"2026-01-15T00:{minute:02}:00+00:00")


def judged(*records: RawRecord) -> list[GateResult]:
    subjects = [subject_of(n, TODAY) for n in nodes(4)]
    return [r for r in judge(subjects, records, level="standard", gates=["nccl_group"]) if r.outcome is not Outcome.PASS]


def test_without_a_search_the_group_is_no_evidence_for_anybody() -> None:
    found = judged(run("group", ALL, BAD))
    assert {(r.node, r.outcome, r.reason) for r in found} == {(n, Outcome.COULD_NOT_RUN, GateReason.BELOW_FLOOR) for n in ALL}


def test_good_when_it_is_measured_again_is_a_collision() -> None:
    found = judged(run("group", ALL, BAD), run("group.all-search1", ALL, GOOD))
    assert {(r.node, r.outcome, r.reason) for r in found} == {(n, Outcome.WARN, GateReason.COLLISION) for n in ALL}
    assert "good when the same nodes were measured again" in found[0].detail


def test_good_in_parts_blames_nobody_and_does_not_pass() -> None:
    parts = [("n1", "n2"), ("n3", "n4"), ("n1", "n3"), ("n2", "n4")]
    more = [run(f"group.all-search{2 + i // 2}", part, GOOD) for i, part in enumerate(parts)]
    found = judged(run("group", ALL, BAD), run("group.all-search1", ALL, BAD), *more)
    assert {(r.node, r.outcome) for r in found} == {(n, Outcome.COULD_NOT_RUN) for n in ALL}
    assert all("no node is at fault" in r.hint for r in found)


def test_a_search_that_did_not_end_changes_nothing() -> None:
    found = judged(run("group", ALL, BAD), run("group.all-search1", ALL, BAD), run("group.all-search2", ("n1", "n2"), BAD))
    assert {(r.node, r.outcome, r.reason) for r in found} == {(n, Outcome.COULD_NOT_RUN, GateReason.BELOW_FLOOR) for n in ALL}


def test_the_node_at_fault_fails_and_the_others_need_a_run_without_it() -> None:
    search = [
        run("group.all-search1", ALL, BAD),
        run("group.all-search2", ("n1", "n2"), GOOD),
        run("group.all-search2", ("n3", "n4"), BAD),
        run("group.all-search3", ("n3", "n1"), GOOD),
        run("group.all-search3", ("n4", "n2"), BAD),
    ]
    found = judged(run("group", ALL, BAD), *search)
    assert [(r.node, r.outcome, r.reason) for r in found if r.outcome is Outcome.FAIL] == [("n4", Outcome.FAIL, GateReason.BELOW_FLOOR)]
    assert {(r.node, r.reason) for r in found if r.outcome is not Outcome.FAIL} == {(n, GateReason.GROUP_SPOILED) for n in ALL[:3]}
    rest = run("group.rest", ALL[:3], GOOD, minute=9)
    assert [r.node for r in judged(run("group", ALL, BAD), *search, rest)] == ["n4"]
    worse = run("group.rest", ALL[:3], BAD, minute=9)
    assert {r.node for r in judged(run("group", ALL, BAD), *search, worse)} == set(ALL)


def test_the_others_are_proved_without_a_node_that_could_not_start_its_ranks() -> None:
    lost = {"error": "orted: not installed", "error_code": GateReason.NOT_INSTALLED, "exit_status": None}
    records = [
        record("nccl_group", "n1", "", step="group", peers=ALL, exit_status=1),
        record("nccl_group", "n4", "", step="member", argv=("orted",), peer="n1", **lost),
    ]
    found = judged(*records)
    assert [r.node for r in found if r.reason is GateReason.GROUP_SPOILED] == ["n1", "n2", "n3"]
    assert all(r.hint.startswith("rerun without n4: `clusterctl burnin n1,n2,n3 ") for r in found if r.node != "n4")
    found = judged(*records, run("group.rest", ALL[:3], GOOD, minute=9))
    assert [(r.node, r.reason) for r in found] == [("n4", GateReason.NOT_INSTALLED)]


def wrong(step: str, peers: Sequence[str]) -> RawRecord:
    text = nccl(GOOD, via="NET/IB/0/GDRDMA", ranks=8 * len(peers), wrong="7", closing="1 FAILED")
    return record("nccl_group", peers[0], text, step=step, peers=tuple(peers))


def test_wrong_results_are_searched_as_well() -> None:
    parts = [run("group.all-search2", ("n1", "n2"), GOOD), run("group.all-search3", ("n3", "n1"), GOOD)]
    bad = [wrong("group.all-search2", ("n3", "n4")), wrong("group.all-search3", ("n4", "n2"))]
    found = judged(wrong("group", ALL), wrong("group.all-search1", ALL), *parts, *bad)
    assert [(r.node, r.reason) for r in found if r.outcome is Outcome.FAIL] == [("n4", GateReason.WRONG_RESULTS)]


def test_wrong_results_that_do_not_come_again_are_no_collision() -> None:
    found = judged(wrong("group", ALL), run("group.all-search1", ALL, GOOD))
    assert {(r.node, r.outcome, r.reason) for r in found} == {(n, Outcome.COULD_NOT_RUN, GateReason.WRONG_RESULTS) for n in ALL}


def ended(step: str, peers: Sequence[str], **more: Any) -> RawRecord:
    """NCCL gave up."""
    fields: dict[str, Any] = {"exit_status": 3, "step": step, "peers": tuple(peers), **more}
    return record("nccl_group", peers[0], "Test NCCL failure common.cu:1279 'remote process exited or there was a network error'", **fields)


def test_a_group_in_which_nccl_fails_is_searched() -> None:
    parts = [run("group.all-search2", ("n1", "n2"), GOOD), run("group.all-search3", ("n3", "n1"), GOOD), run("group.rest", ALL[:3], GOOD)]
    bad = [ended("group.all-search2", ("n3", "n4")), ended("group.all-search3", ("n4", "n2"))]
    found = judged(ended("group", ALL), ended("group.all-search1", ALL), *parts, *bad)
    assert [(r.node, r.outcome, r.reason) for r in found] == [("n4", Outcome.COULD_NOT_RUN, GateReason.EXIT_STATUS)]
    assert "bad in every group that it was in" in found[0].detail
    assert found[0].hint


def hung(step: str, peers: Sequence[str]) -> RawRecord:
    return ended(step, peers, exit_status=None, error="timed out after 183 s", error_code=GateReason.TIMED_OUT)


def test_a_group_that_hangs_is_searched() -> None:
    """As NVIDIA/nccl issue 1634: two nodes of eleven hang with any other."""
    parts = [run("group.all-search2", ("n1", "n2"), GOOD), run("group.all-search3", ("n3", "n1"), GOOD), run("group.rest", ALL[:3], GOOD)]
    bad = [hung("group.all-search2", ("n3", "n4")), hung("group.all-search3", ("n4", "n2"))]
    found = judged(hung("group", ALL), hung("group.all-search1", ALL), *parts, *bad)
    assert [(r.node, r.outcome, r.reason) for r in found] == [("n4", Outcome.COULD_NOT_RUN, GateReason.TIMED_OUT)]
    assert "bad in every group that it was in, at last with n3, whose other group is good" in found[0].detail


def test_a_group_that_hung_once_is_not_proved_by_the_next_run() -> None:
    found = judged(hung("group", ALL), run("group.all-search1", ALL, GOOD))
    assert {(r.node, r.outcome, r.reason) for r in found} == {(n, Outcome.COULD_NOT_RUN, GateReason.TIMED_OUT) for n in ALL}


def test_where_every_part_hangs_nobody_is_named() -> None:
    parts = [hung("group.all-search1", ALL), hung("group.all-search2", ALL[:2]), hung("group.all-search2", ALL[2:])]
    found = judged(hung("group", ALL), *parts)
    assert {(r.node, r.outcome, r.reason) for r in found} == {(n, Outcome.COULD_NOT_RUN, GateReason.TIMED_OUT) for n in ALL}


def test_wrong_results_that_the_slow_node_does_not_show_again_stay() -> None:
    both = nccl(BAD, via="NET/IB/0/GDRDMA", ranks=32, wrong="7", closing="1 FAILED")
    whole = record("nccl_group", "n1", both, step="group", peers=ALL)
    parts = [run("group.all-search2", ("n1", "n2"), GOOD), run("group.all-search3", ("n3", "n1"), GOOD), run("group.rest", ALL[:3], GOOD)]
    slow = [run("group.all-search1", ALL, BAD), run("group.all-search2", ("n3", "n4"), BAD), run("group.all-search3", ("n4", "n2"), BAD)]
    found = judged(whole, *slow, *parts)
    assert {r.node for r in found if r.reason is GateReason.WRONG_RESULTS} >= set(ALL[:3])
    assert [r.node for r in found if r.outcome is Outcome.FAIL] == ["n4"]
