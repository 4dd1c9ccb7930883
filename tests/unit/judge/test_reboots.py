"""A reboot under load is a fault of the node that did it, and of no other."""

from __future__ import annotations

from dataclasses import replace

from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.subject import subject_of
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import Outcome, RawRecord
from support.gates import TODAY, gates, meeting, node, record, snapshot

TOLD = "the node rebooted during the measurement: boot a, then b"


def cut_off(found: RawRecord) -> RawRecord:
    return replace(found, stdout="", exit_status=None, error=TOLD, error_code=GateReason.REBOOTED)


def silenced(found: RawRecord) -> RawRecord:
    return replace(found, stdout="", exit_status=None, error="n2 stopped answering", error_code=GateReason.PEER_SILENT)


def test_every_gate_that_was_cut_off_fails_on_the_node_that_rebooted() -> None:
    subjects = [subject_of(node(n, rails=1), TODAY) for n in ("n1", "n2", "n3")]
    snapshots = [record("load_errors", n, snapshot(m), step=s) for n in ("n1", "n2", "n3") for m, s in ((1, "before"), (9, "after.nodes"))]
    records = [cut_off(r) if (r.node, r.step) == ("n2", "after.nodes") else r for r in snapshots]
    for number, (one, other) in enumerate((("n1", "n2"), ("n1", "n3"), ("n2", "n3"))):
        for side in meeting(one, other, 0, number, 392.0):
            bad = "n2" in (one, other)
            records.append(cut_off(side) if side.node == "n2" else silenced(side) if bad else side)
    found = {(r.node, r.gate): r for r in judge(subjects, records, level="standard", gates=["rdma_pair", "load_errors"])}
    for gate in ("rdma_pair", "load_errors"):
        own = found["n2", gate]
        assert (own.outcome, own.reason) == (Outcome.FAIL, GateReason.REBOOTED)
        assert TOLD in own.detail
        assert "kernel log of the boot before" in own.hint
        assert {found[n, gate].outcome for n in ("n1", "n3")} == {Outcome.PASS}


def test_its_only_partner_is_not_blamed() -> None:
    subjects = [subject_of(node(n, rails=1), TODAY) for n in ("n1", "n2")]
    records = [cut_off(r) if r.node == "n2" else silenced(r) for r in meeting("n1", "n2", 0, 0, 392.0)]
    found = {r.node: r for r in judge(subjects, records, level="standard", gates=["rdma_pair"])}
    assert (found["n2"].outcome, found["n2"].reason) == (Outcome.FAIL, GateReason.REBOOTED)
    assert (found["n1"].outcome, found["n1"].reason) == (Outcome.COULD_NOT_RUN, GateReason.PEER_SILENT)
    assert found["n1"].hint.startswith("repair n2, or measure without: `clusterctl burnin n1 ")


def test_a_node_gate_that_was_cut_off_fails() -> None:
    levels = {level: ["nccl_node"] for level in ("quick", "standard", "full")}
    only = subject_of(node("n1", declared=gates(gates_levels=levels)), TODAY)
    (found,) = judge([only], [cut_off(record("nccl_node", "n1", ""))], level="standard", gates=["nccl_node"])
    assert (found.outcome, found.reason) == (Outcome.FAIL, GateReason.REBOOTED)
    assert "find out why in the BMC's event log" in found.hint


def test_members_of_a_group_whose_launcher_rebooted_are_not_blamed() -> None:
    subjects = [subject_of(node(n), TODAY) for n in ("n1", "n2")]
    run = cut_off(record("nccl_group", "n1", "", step="group", peers=("n1", "n2")))
    found = {r.node: r for r in judge(subjects, [run], level="standard", gates=["nccl_group"])}
    assert (found["n1"].outcome, found["n1"].reason) == (Outcome.FAIL, GateReason.REBOOTED)
    assert (found["n2"].outcome, found["n2"].reason) == (Outcome.COULD_NOT_RUN, GateReason.PEER_SILENT)


def test_a_member_that_rebooted_fails_by_its_own_record() -> None:
    subjects = [subject_of(node(n), TODAY) for n in ("n1", "n2")]
    run = record("nccl_group", "n1", "", step="group", peers=("n1", "n2"), exit_status=255, stderr="ORTE has lost communication\n")
    member = cut_off(record("nccl_group", "n2", "", step="member", peer="n1"))
    found = {r.node: r for r in judge(subjects, [run, member], level="standard", gates=["nccl_group"])}
    assert (found["n2"].outcome, found["n2"].reason) == (Outcome.FAIL, GateReason.REBOOTED)
    assert found["n1"].outcome is Outcome.COULD_NOT_RUN
