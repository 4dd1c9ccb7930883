from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.nccl_group import NcclGroup
from clusterctl.core.gates.planning.gate_plan import plan_gates
from clusterctl.core.gates.planning.header import header_from, header_of
from clusterctl.core.gates.registry import gate_named
from clusterctl.core.gates.subject import subject_of
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome, RawRecord
from support.gates import GROUP_FLOOR, NODE_FLOOR, RDMA_FLOOR, TODAY, gates, nccl, node, record
from support.recorded import recorded

PASS, FAIL, COULD_NOT_RUN = Outcome.PASS, Outcome.FAIL, Outcome.COULD_NOT_RUN


def one_node(text: str, *, declared: dict[str, Any] | None = None, **more: Any) -> dict[str, GateResult]:
    subject = subject_of(node("n1", declared=declared), TODAY)
    results = judge([subject], [record("nccl_node", "n1", text, **more)], level="standard", gates=["nccl_node"])
    assert results
    return {r.rule: r for r in results}


def together(busbw: float, *, via: str, ranks: int = 16) -> str:
    """The output of two nodes."""
    return nccl(busbw, via=via, ranks=ranks)


def group(text: str, *, names: tuple[str, ...] = ("n1", "n2"), declared: dict[str, Any] | None = None, **more: Any) -> list[GateResult]:
    subjects = [subject_of(node(n, declared=declared), TODAY) for n in names]
    argv = ("mpirun", "-np", "16", "all_reduce_perf", "-g", "1")
    run = record("nccl_group", "n1", text, peers=names, argv=argv, **more)
    return list(judge(subjects, [run], level="standard", gates=["nccl_group"]))


def test_a_healthy_node_passes_every_rule() -> None:
    found = one_node(nccl(476.9))
    assert {rule: r.outcome for rule, r in found.items()} == {"correctness": PASS, "floor": PASS, "transport": PASS}
    assert found["floor"].found == "476.9 GB/s"
    assert found["floor"].source == "tests"


def test_a_node_without_nvls_is_below_the_floor() -> None:
    floor = one_node(nccl(366.0))["floor"]
    assert (floor.outcome, floor.expected, floor.found) == (FAIL, ">= 460 GB/s", "366 GB/s")
    assert (floor.reason, floor.value, floor.limit, floor.unit) == (GateReason.BELOW_FLOOR, 366.0, 460.0, "GB/s")
    assert "NVLS" in floor.hint


def test_wrong_results_fail_whatever_the_bandwidth_and_exit_status() -> None:
    for status in (0, 1):
        found = one_node(nccl(476.9, wrong="2", closing="2 FAILED"), exit_status=status)
        assert found["correctness"].outcome is FAIL
        assert "silent data corruption" in found["correctness"].hint


def test_unchecked_results_are_no_proof_unless_the_profile_says_so() -> None:
    assert one_node(nccl(476.9, wrong="N/A"))["correctness"].outcome is COULD_NOT_RUN
    declared = gates(gates_settings={"nccl_node": {"require_correctness": False}})
    assert one_node(nccl(476.9, wrong="N/A"), declared=declared)["correctness"].outcome is Outcome.NOT_APPLICABLE


def test_an_output_without_channel_lines_leaves_the_transport_unknown() -> None:
    assert one_node(nccl(476.9, via=""))["transport"].outcome is COULD_NOT_RUN


def test_shared_memory_instead_of_nvlink_is_the_reason() -> None:
    found = one_node(nccl(20.0, via="SHM/direct/direct"))
    assert found["transport"].outcome is FAIL
    assert "floor" not in found


def test_fewer_gpus_than_declared_are_missing_evidence() -> None:
    complete = one_node(nccl(476.9, ranks=7))["complete"]
    assert (complete.detail, complete.reason, complete.value) == ("it ran on 7 of 8 GPUs", GateReason.INCOMPLETE, 7.0)


def test_a_result_above_the_ceiling_is_a_measuring_error() -> None:
    ceiling = {**NODE_FLOOR, "kind": "ceiling", "value": 900.0}
    found = one_node(nccl(202818.0), declared=gates(gates_baselines=[RDMA_FLOOR, NODE_FLOOR, GROUP_FLOOR, ceiling]))
    assert found["ceiling"].outcome is COULD_NOT_RUN
    assert "measuring error" in found["ceiling"].detail
    assert "floor" not in found


def test_a_floor_for_another_size_is_not_met_by_this_one() -> None:
    declared = gates(gates_baselines=[RDMA_FLOOR, {**NODE_FLOOR, "size_bytes": 8589934592}, GROUP_FLOOR])
    floor = one_node(nccl(476.9), declared=declared)["floor"]
    assert (floor.outcome, floor.detail) == (COULD_NOT_RUN, "the output has no busbw at 8589934592 bytes")


def test_a_floor_for_another_number_of_nodes_is_no_floor() -> None:
    declared = gates(gates_baselines=[RDMA_FLOOR, NODE_FLOOR, {**GROUP_FLOOR, "nodes": 8}])
    found = group(together(90.0, via="NET/IB/0/GDRDMA"), declared=declared)
    assert {r.rule for r in found if r.outcome is COULD_NOT_RUN} == {"baseline"}


@pytest.mark.parametrize("text", ["", "garbage", nccl(476.9).replace("# Avg", "Avg").replace("# Out", "Out")])
def test_empty_garbage_and_cut_off_output_could_not_run(text: str) -> None:
    assert {r.outcome for r in one_node(text).values()} == {COULD_NOT_RUN}


def test_a_crash_says_what_the_tool_said_last() -> None:
    found = one_node("", exit_status=3, stderr="x\nTest CUDA failure common.cu:1012 'system not yet initialized'\n")
    assert "all_reduce_perf ended with exit status 3: Test CUDA failure" in found["exit_status"].detail


def test_a_group_that_is_fine_proves_every_member() -> None:
    found = group(together(90.0, via="NET/IB/0/GDRDMA"))
    assert {(r.node, r.outcome) for r in found} == {("n1", PASS), ("n2", PASS)}
    assert {r.peers for r in found} == {("n1", "n2")}


def test_nccl_over_tcp_fails_and_the_reason_is_the_transport() -> None:
    found = group(together(3.0, via="NET/Socket/0"))
    assert {(r.rule, r.outcome) for r in found} == {("correctness", PASS), ("transport", COULD_NOT_RUN)}
    told = next(r for r in found if r.rule == "transport")
    assert "NCCL used NET/Socket: whatever the bandwidth, this is the reason" in told.detail
    assert "the group of 2 failed" in told.detail
    node_found = one_node(nccl(3.0, via="NET/Socket/0"))
    assert node_found["transport"].outcome is FAIL
    assert "floor" not in node_found


def test_network_channels_without_gpudirect_are_told() -> None:
    found = group(together(90.0, via="NET/IB/0"))
    assert "without GPUDirect RDMA" in next(r.detail for r in found if r.rule == "transport")


OVER_A_RACK = gates(
    gates_settings={"nccl_group": {"require_transport": "P2P/MNNVL", "forbid_transport": ["NET/Socket", "NET/IB"]}},
    gates_baselines=[RDMA_FLOOR, NODE_FLOOR, {**GROUP_FLOOR, "value": 800.0}],
)


def test_a_rack_that_is_joined_by_nvlink_passes_above_what_adapters_carry() -> None:
    assert {r.outcome for r in group(together(934.2, via="P2P/MNNVL"), declared=OVER_A_RACK)} == {PASS}


@pytest.mark.parametrize("via", ["NET/IB/0/GDRDMA", "NET/IBext_v11/0/GDRDMA", "NET/SPCX/0(4)/GDRDMA"])
def test_trays_that_reach_each_other_by_their_adapters_are_not_in_one_domain(via: str) -> None:
    found = group(together(386.0, via=via), declared=OVER_A_RACK)
    transport = next(r for r in found if r.rule == "transport")
    assert transport.outcome is COULD_NOT_RUN
    assert "NCCL used NET/IB/GDRDMA" in transport.detail
    assert "nvidia-imex-ctl -N" in transport.hint


def test_what_nccl_warns_of_is_told_before_what_follows_from_it() -> None:
    warning = "r1-n02:4000:4100 [0] NCCL WARN MNNVL (cliqueSize 8) is available but not working on this system. Check the IMEX channel configuration"
    (first, *_) = group(
        f"{warning}\nr1-n02: Test NCCL failure common.cu:1279\n", declared=OVER_A_RACK, exit_status=3, stderr="mpirun: 8 lost\n"
    )
    assert (first.outcome, first.rule) == (COULD_NOT_RUN, "exit_status")
    assert "MNNVL (cliqueSize 8) is available but not working" in first.detail
    assert first.reason is GateReason.NVLINK_UNUSABLE
    assert "/dev/nvidia-caps-imex-channels" in first.hint


# transport/nvls.cc, transport/p2p.cc, include/alloc.h and mnnvl.cc of NCCL 2.28.3; `recorded` has those of public logs.
OUT_OF_DOMAIN = "transport/p2p.cc:281 NCCL WARN Cuda failure 801 'operation not supported'"
NO_CHANNEL = (
    "include/alloc.h:229 NCCL WARN Cuda failure 801 'operation not supported'\n"
    "mnnvl.cc:66 NCCL WARN MNNVL (cliqueSize 8) is available but not working on this system. Check the IMEX channel configuration"
)
# NVIDIA/nccl v2.25.1-1 to v2.26.6-1, src/mnnvl.cc: the same failure in other words.
NO_DOMAIN_2_26 = "mnnvl.cc:69 NCCL WARN MNNVL (cliqueSize 8) is available but not supported on this system. Check the IMEX configuration."
NO_MULTICAST = "transport/nvls.cc:254 NCCL WARN Cuda failure 401 'the operation cannot be performed in the present state'"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (OUT_OF_DOMAIN, GateReason.NVLINK_UNUSABLE),
        (OUT_OF_DOMAIN.replace("p2p", "nvls"), GateReason.NVLINK_UNUSABLE),
        (NO_CHANNEL, GateReason.NVLINK_UNUSABLE),
        (NO_DOMAIN_2_26, GateReason.NVLINK_UNUSABLE),
        (NO_MULTICAST, GateReason.NVLS_UNUSABLE),
        ("n1: Test CUDA failure common.cu:1012 'system not yet initialized'", GateReason.FABRIC_NOT_READY),
        ("init.cc:1 NCCL WARN Cuda failure 2 'out of memory'", GateReason.EXIT_STATUS),
        ("None of the TCP networks specified to be included for out-of-band communications", GateReason.ADDRESS_UNUSABLE),
    ],
)
def test_a_group_that_cannot_use_its_nvlink_says_why(text: str, reason: GateReason) -> None:
    (first, *_) = group(f"n1:4000:4100 [0] {text}\n", declared=OVER_A_RACK, exit_status=3)
    assert (first.outcome, first.reason) == (COULD_NOT_RUN, reason)


def test_the_warning_that_names_the_reason_is_shown() -> None:
    (first, *_) = group(f"n1:4000:4100 [0] {NO_CHANNEL}\n", declared=OVER_A_RACK, exit_status=3)
    assert "MNNVL (cliqueSize 8) is available but not working" in first.detail


def test_the_nvlink_of_a_rack_is_not_the_reason_where_it_is_switched_off() -> None:
    """Memory of one node is shared by file descriptors, without IMEX: there the switches refuse."""
    assert one_node(OUT_OF_DOMAIN.replace("p2p", "nvls"), exit_status=3)["exit_status"].reason is GateReason.NVLS_UNUSABLE
    assert one_node(OUT_OF_DOMAIN, exit_status=3)["exit_status"].reason is GateReason.EXIT_STATUS


@pytest.mark.parametrize(
    ("name", "gate", "reason", "advice"),
    [
        ("gb-2trays-imex-domain-missing-cuda801.txt", "group", GateReason.NVLINK_UNUSABLE, "nvidia-imex-ctl -N"),
        ("gb300-16-trays-no-imex-channel.txt", "group", GateReason.NVLINK_UNUSABLE, "nvidia-imex-ctl -N"),
        ("h100-nvls-multicast-add-device-401.txt", "node", GateReason.NVLS_UNUSABLE, "fabric manager"),
        ("h100-nvls-bind-multicast-401-2.29.7.txt", "node", GateReason.NVLS_UNUSABLE, "fabric manager"),
    ],
)
def test_failures_of_real_machines_get_the_action_that_helps(name: str, gate: str, reason: GateReason, advice: str) -> None:
    text = recorded(f"nccl-debug/{name}").read_text()
    if gate == "node":
        found = one_node(text, exit_status=3)["exit_status"]
    else:
        (found, *_) = group(text, declared=OVER_A_RACK, exit_status=3)
    assert (found.outcome, found.reason) == (COULD_NOT_RUN, reason)
    assert advice in found.hint


def test_a_node_is_measured_without_the_nvlink_of_its_rack() -> None:
    """NCCL_MNNVL_ENABLE=1 in /etc/nccl.conf makes NCCL require IMEX and a channel on one node, too (src/init.cc); only a group gets them."""
    subject = subject_of(node("n1"), TODAY)
    plan = plan_gates([subject], "standard", ["nccl_node"])
    (step,) = plan.steps["n1"]
    assert "NCCL_MNNVL_ENABLE=0" in step.argv[: step.argv.index("all_reduce_perf")]
    asked = gates(gates_settings={"nccl_node": {"environment": {"NCCL_MNNVL_ENABLE": "1"}}})
    (step,) = plan_gates([subject_of(node("n1", declared=asked), TODAY)], "standard", ["nccl_node"]).steps["n1"]
    assert [w for w in step.argv if "MNNVL" in w] == ["NCCL_MNNVL_ENABLE=1"]


# src/transport/coll_net.cc of NCCL 2.28.3; no whole log of SHARP is public.
BY_SHARP = "COLLNET/SHARP/0/GDRDMA"


def of_sharp(use: str, **more: Any) -> dict[str, Any]:
    return gates(gates_settings={"nccl_group": {"sharp": use, **more}})


@pytest.mark.parametrize(
    ("use", "via", "outcome", "detail"),
    [
        ("refused", BY_SHARP, COULD_NOT_RUN, "no channel uses NET/IB"),
        ("accepted", BY_SHARP, PASS, ""),
        ("required", BY_SHARP, PASS, ""),
        ("accepted", "NET/IB/0/GDRDMA", PASS, "no channel uses SHARP"),
        ("required", "NET/IB/0/GDRDMA", COULD_NOT_RUN, "no channel uses COLLNET/SHARP"),
        ("accepted", "COLLNET/SHARP/0", COULD_NOT_RUN, "COLLNET/SHARP without GPUDirect RDMA"),
        ("accepted", "COLLNET/SHARP/0/GDRDMA(PCI)", PASS, ""),
        ("accepted", "NET/Socket/0", COULD_NOT_RUN, "NCCL used NET/Socket"),
        ("accepted", "COLLNET/Other/0/GDRDMA", COULD_NOT_RUN, "no channel uses NET/IB"),
    ],
)
def test_channels_to_switches_that_reduce_count_where_they_are_declared(use: str, via: str, outcome: Outcome, detail: str) -> None:
    found = [r for r in group(together(90.0, via=via), declared=of_sharp(use)) if r.rule == "transport"]
    assert {r.outcome for r in found} == {outcome}
    assert detail in found[0].detail


def test_the_hint_of_missing_sharp_is_about_sharp() -> None:
    found = group(together(90.0, via="NET/IB/0/GDRDMA"), declared=of_sharp("required"))
    assert "sharp_am" in next(r.hint for r in found if r.rule == "transport")


def test_switches_that_reduce_over_the_network_are_no_nvlink() -> None:
    declared = {**OVER_A_RACK, "gates_settings": {"nccl_group": {**OVER_A_RACK["gates_settings"]["nccl_group"], "sharp": "accepted"}}}
    text = together(934.2, via="P2P/MNNVL") + f"n1:1:2 [0] NCCL INFO CollNet 00/0 : 0 [send] via {BY_SHARP}\n"
    assert "NCCL used COLLNET/SHARP/GDRDMA" in next(r.detail for r in group(text, declared=declared) if r.rule == "transport")


def test_only_the_plain_run_must_use_sharp() -> None:
    gate = gate_named("nccl_group")
    assert isinstance(gate, NcclGroup)
    subject = subject_of(node("n1", rails=2, declared=of_sharp("required")), TODAY)
    found = {name: own.sharp for name, own in gate.variants(subject).items()}
    assert found.pop("") == "required"
    assert set(found.values()) == {"accepted"}


def test_a_slow_group_singles_out_nobody() -> None:
    found = [r for r in group(together(40.0, via="NET/IB/0/GDRDMA"), names=("n1", "n2", "n3", "n4")) if r.rule == "floor"]
    assert {(r.node, r.outcome) for r in found} == {(f"n{i}", COULD_NOT_RUN) for i in (1, 2, 3, 4)}
    assert "no node is singled out" in found[0].detail
    assert "busbw 40 GB/s, expected >= 50 GB/s, source tests" in found[0].detail
    assert "clusterctl burnin n1,n2 --gates nccl_group" in found[0].hint


def test_a_slow_group_with_a_node_that_failed_earlier_is_to_be_rerun_without_it() -> None:
    names = ("n1", "n2", "n3")
    subjects = [subject_of(node(n), TODAY) for n in names]
    runs = [record("nccl_node", n, nccl(300.0 if n == "n2" else 477.0)) for n in names]
    argv = ("mpirun", "-np", "24", "all_reduce_perf")
    runs.append(record("nccl_group", "n1", nccl(40.0, via="NET/IB/0/GDRDMA"), peers=names, argv=argv))
    found = judge(subjects, runs, level="standard", gates=["nccl_node", "nccl_group"])
    told = next(r for r in found if r.gate == "nccl_group" and r.node == "n1" and r.rule == "floor")
    assert told.outcome is COULD_NOT_RUN
    assert "rerun without n2: `clusterctl burnin n1,n3 --gates nccl_group`" in told.hint


def test_a_node_takes_part_in_the_group_run_whatever_an_observed_gate_says_of_it() -> None:
    observe = ({"gate": "nccl_node", "reason": "too flappy"},)
    own = [replace(n, spec=replace(n.spec, observe=observe)) for n in map(node, ("n1", "n2"))]
    header = header_of("standard", ("nccl_node",), own, (), impossible={}, pairs=None)
    stored = header_from(json.loads(json.dumps(header.to_json()))).stored_nodes()
    for subjects in ([subject_of(n, TODAY) for n in own], [subject_of(n, TODAY) for n in stored]):
        runs = [record("nccl_node", n, nccl(300.0 if n == "n2" else 477.0)) for n in ("n1", "n2")]
        runs.append(
            record("nccl_group", "n1", together(90.0, via="NET/IB/0/GDRDMA"), peers=("n1", "n2"), argv=("mpirun", "all_reduce_perf"))
        )
        found = judge(subjects, runs, level="standard", gates=["nccl_node", "nccl_group"])
        assert {r.reason for r in found if r.gate == "nccl_group"} == {None}
        observed = [r for r in found if r.gate == "nccl_node" and r.node == "n2" and r.observed is Outcome.FAIL]
        assert [(r.outcome, r.reason) for r in observed] == [(Outcome.WARN, GateReason.BELOW_FLOOR)]
        assert "observed, so it does not decide: too flappy" in observed[0].detail
        assert "nccl_node" not in subjects[0].deciding("standard")
        assert "nccl_group" in subjects[0].deciding("standard")


@pytest.mark.parametrize("ranks", [0, 8, 15])
def test_a_group_in_which_ranks_are_missing_could_not_run(ranks: int) -> None:
    found = group(together(90.0, via="NET/IB/0/GDRDMA", ranks=ranks))
    assert {(r.node, r.outcome, r.reason) for r in found if r.rule == "complete"} == {
        (name, COULD_NOT_RUN, GateReason.INCOMPLETE) for name in ("n1", "n2")
    }


def test_a_node_whose_output_lists_no_rank_could_not_run() -> None:
    assert "does not list the ranks" in one_node(nccl(476.9, ranks=0))["complete"].detail


def test_more_than_the_adapters_of_a_node_carry_is_a_measuring_error() -> None:
    found = [r for r in group(together(5000.0, via="NET/IB/0/GDRDMA")) if r.outcome is not PASS]
    assert {(r.rule, r.reason) for r in found} == {("ceiling", GateReason.ABOVE_CEILING)}


def test_the_in_place_half_of_a_row_counts_as_well() -> None:
    row = "270.0 476.90 0 65000 270.0 "
    text = nccl(476.9)
    assert f"{row}476.90" in text
    floor = one_node(text.replace(f"{row}476.90", f"{row}120.00"))["floor"]
    assert (floor.outcome, floor.value) == (FAIL, 120.0)


def test_a_table_without_a_bandwidth_could_not_run() -> None:
    found = one_node(nccl(476.9).replace("476.90", "X" * 3 + ".XX"))
    assert {(r.outcome, r.reason) for r in found.values()} == {(COULD_NOT_RUN, GateReason.UNPARSABLE)}


def member(name: str, error: str, code: GateReason) -> RawRecord:
    return record("nccl_group", name, "", step="member", argv=("orted",), peer="n1", error=error, error_code=code, exit_status=None)


def test_a_member_that_could_not_start_its_ranks_says_why_by_itself() -> None:
    subjects = [subject_of(node(n), TODAY) for n in ("n1", "n2", "n3")]
    launched = record(
        "nccl_group", "n1", "", peers=("n1", "n2", "n3"), argv=("mpirun",), exit_status=1, stderr="rank_starter: 10.0.0.2: x\n"
    )
    own = member("n2", "orted: not installed", GateReason.NOT_INSTALLED)
    other = member("n3", "n1 closed the connection", GateReason.PEER_SILENT)
    found = judge(subjects, [launched, own, other], level="standard", gates=["nccl_group"])
    assert {(r.node, r.outcome, r.reason) for r in found} == {
        ("n1", COULD_NOT_RUN, GateReason.GROUP_SPOILED),
        ("n2", COULD_NOT_RUN, GateReason.NOT_INSTALLED),
        ("n3", COULD_NOT_RUN, GateReason.GROUP_SPOILED),
    }


NVLS = "n1:100:120 [0] NCCL INFO 24 coll channels, 0 collnet channels, 16 nvls channels, 32 p2p channels, 32 p2p channels per peer\n"


def test_a_node_that_only_reduces_in_its_switches_passes() -> None:
    found = one_node(NVLS + nccl(478.0, via=""))
    assert {rule: r.outcome for rule, r in found.items()} == {"correctness": PASS, "floor": PASS, "transport": PASS}


def test_a_node_that_could_use_its_switches_and_used_shared_memory_does_not() -> None:
    assert one_node(NVLS + nccl(478.0, via="SHM/direct/direct"))["transport"].outcome is FAIL


@pytest.mark.parametrize(("clique", "outcome"), [(16, PASS), (8, COULD_NOT_RUN), (0, COULD_NOT_RUN)])
def test_trays_that_only_reduce_in_their_switches_must_be_one_domain(clique: int, outcome: Outcome) -> None:
    line = f"n1:100:120 [0] NCCL INFO MNNVL 1 cliqueId 7e cliqueSize {clique} cliqueRank 0 nvlDomainSize {clique}\n"
    found = group((line if clique else "") + NVLS + together(934.2, via=""), declared=OVER_A_RACK)
    assert {r.outcome for r in found if r.rule == "transport"} == {outcome}


@pytest.mark.parametrize("name", ["IB", "IBext", "IBext_v8", "IBext_v11", "SPCX"])
def test_the_plug_in_for_infiniband_has_several_names(name: str) -> None:
    """Mellanox/nccl-rdma-sharp-plugins@2f5ac02 src/ib_plugin.c; `via NET/SPCX/2(0)/GDRDMA` on 2 x 8 B300 over RoCE (index id 71114544061).

    SPCX is the plug-in for Spectrum-X of HPC-X 2.25 and later (its manual, NCCL_NET_PLUGIN=spcx), default since coreweave/nccl-tests pull 100.
    """
    assert {r.outcome for r in group(together(90.0, via=f"NET/{name}/0/GDRDMA"))} == {PASS}
