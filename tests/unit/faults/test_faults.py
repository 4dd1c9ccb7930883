"""The drill that grades detection: its rows, its vocabulary, and a slice of its racks."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome
from clusterctl.model.repair import Component, NextAction, Repair
from clusterctl_validators.finding import Finding, Severity
from faults.burnin import burn_in
from faults.grading import HOLDS, Statement, grade, of_checks, of_gates
from faults.noise import Noise
from faults.rack_findings import findings_of_rack
from faults.rack_kinds import GB200_NVL72, HGX_H100, RACK_KINDS
from faults.rows import ADDED_GATES, Oracle, Row, hint_words, load_rows
from faults.trials import graded_row, seed_of, stated_about, tried
from faults.world import EVERY_NODE, Rack, device_at, gpu_address, hca_address, rack_of

ROWS = load_rows()
INCIDENTS = {
    "DCGM#122", "nccl#1715", "NVSentinel#1666", "NVSentinel#889", "NVSentinel#1748",
    "azhpc-images#506", "rtx6kpro#88", "aicr#1858", "marin#8934", "tt-metal#51296",
}  # fmt: skip
RESET, REPLACE = NextAction.RESET_GPU, NextAction.REPLACE
# Row -> detected, right component, right action.
SLICE = {
    "gpu_at_a_third_of_its_rate": (True, True, True),
    "fabric_manager_dead": (True, True, True),
    "corrected_errors_by_the_hundred_thousand": (True, True, True),
}
# Row of a rack of trays -> held, right component, right action, the first that is stated.
TRAYS = {
    "tray_in_another_clique": (True, True, True, ["fail nvlink_domain.rack.clique_id"]),
    "gpu_of_a_tray_12_percent_low_at_its_clock": (True, True, True, ["fail gpu_stress.rate.gemm_per_clock.below_peers gpu3"]),
    "switch_tray_failed": (True, True, True, ["fail nvbandwidth.floor.device_to_device_memcpy_read_ce.shared_fault gpu0"]),
    "whole_tray_low_by_binning": (False, False, False, []),
}
# Row that is tried with the added gates -> held, and what of these gates is stated.
ADDED = {
    "product_with_one_flipped_bit": (True, "fail torch_gemm.products.products.wrong_results gpu3"),
    "one_bit_wrong_in_the_same_way_each_time": (True, "fail torch_gemm.products.products.wrong_results gpu3"),
    "all_products_are_no_numbers": (True, "fail torch_gemm.products.products.wrong_results gpu2"),
    "gpu_rate_15_percent_low_at_full_clock": (True, "fail torch_gemm.rate.gemm_per_clock.below_peers gpu2"),
    "disk_at_half_of_its_peers": (True, "fail nvme_fio.peers.read_bandwidth.below_peers nvme3n1"),
    "disk_low_in_two_of_three_measurements": (True, "fail nvme_fio.peers.read_bandwidth.below_peers nvme3n1"),
    "disk_low_in_one_of_three_measurements": (False, "warn nvme_fio.peers.read_bandwidth.below_peers nvme3n1"),
    "disk_with_io_errors": (True, "fail nvme_fio.read..test_failed nvme3n1"),
    "disk_4_percent_low": (False, "warn nvme_fio.peers.read_bandwidth.below_peers nvme3n1"),
    "disk_2_percent_low": (False, ""),
    "memory_word_read_otherwise_than_written": (True, "fail host_memory.content.hardware_incidents.wrong_content"),
    "few_corrected_errors_while_memory_is_loaded": (False, "warn load_errors.peers.dimm_ce_count.above_peers mc0/dimm1"),
    "adapter_latency_above_the_limit": (True, "fail rdma_latency.upper_limit.latency_typical.above_limit mlx5_4"),
    "adapter_latency_40_percent_above_its_peers": (True, "fail rdma_latency.upper_peers.latency_typical.above_peers mlx5_4"),
    "node_with_cables_50_m_longer": (False, ""),
    "mount_of_one_node_at_half_of_its_rate": (False, "warn storage_throughput.peers.node_write_bandwidth.below_peers /mnt/scratch"),
    "other_content_read_than_was_written": (True, "fail storage_throughput.content.wrong_blocks.wrong_content /mnt/scratch"),
    "rank_25_percent_slower_than_its_equals": (True, "fail training_proxy.slow_rank.slow_rank.rank_slow gpu3"),
    "rank_10_percent_slower_than_its_equals": (False, "warn training_proxy.slow_rank.slow_rank.rank_slow gpu3"),
    "rank_that_diverges": (True, "fail training_proxy.equal.equal.ranks_differ gpu3"),
}
ORACLE = Oracle(node="n2", component=Component.GPU, device="gpu3", actions=(NextAction.RESET_GPU,), source="a public table")


def a_statement(
    outcome: Outcome = Outcome.FAIL, device: str = "gpu3", action: NextAction | None = None, *named: NextAction, node: str = "n2"
) -> Statement:
    return Statement(node, "some.key", device, outcome, Repair(Component.GPU, action), frozenset(named))


@pytest.mark.parametrize("row", ROWS, ids=lambda r: r.id)
def test_a_row_names_tool_number_and_parts_of_its_rack(row: Row) -> None:
    kind = RACK_KINDS[row.rack]
    assert row.tool
    assert row.number
    for oracle in row.oracle:
        assert oracle.node in ("", *kind.nodes)
    named = {c.node for c in row.changes} - {"", EVERY_NODE}
    assert named <= {o.node for o in row.oracle}
    assert all(0 <= c.gpu < len(kind.hardware.gpu_addresses) for c in row.changes if c.gpu is not None)
    assert {c.hca for c in row.changes} <= {"", *kind.hardware.hca_names}


def test_there_are_enough_rows_and_half_of_them_are_below_every_limit() -> None:
    for name, least in {"hgx_h100": 60, "gb200_nvl72": 10}.items():
        own = [row for row in ROWS if row.rack == name]
        assert len(own) >= least
        assert 2 * sum(row.below for row in own) >= len(own)
    assert max(Counter(row.id for row in ROWS).values()) == 1
    assert {row.incident for row in ROWS} - {""} == INCIDENTS
    assert sum(len(row.oracle) > 1 for row in ROWS) >= 10


def test_each_action_has_words_by_which_a_hint_names_it() -> None:
    assert set(hint_words()) == set(NextAction)


@pytest.mark.parametrize(
    ("text", "device"),
    [(gpu_address(3), "gpu3"), (f"0000{gpu_address(3).upper()}", "gpu3"), (hca_address("mlx5_2"), "mlx5_2"), ("0000:ff:00.0", "")],
)
def test_an_address_is_a_device(text: str, device: str) -> None:
    assert device_at(text) == device


def test_part_device_and_next_action_come_from_fields() -> None:
    address = f"GPU 0000{gpu_address(3).upper()}"
    hint = "drain the node, reset the GPU; if it returns, RMA"
    results = [
        GateResult(
            "load_errors", "n2", Outcome.FAIL, "growth", "row_remap_pending", device=address, reason=GateReason.RAISED_BY_LOAD, hint=hint
        ),
        GateResult("load_errors", "n2", Outcome.PASS, "growth"),
        GateResult("nccl_group", "n2", Outcome.COULD_NOT_RUN, "complete", reason=GateReason.LEFT_OUT),
    ]
    (found,) = of_gates(results)
    assert (found.device, found.repair) == ("gpu3", Repair(Component.GPU, NextAction.RESET_GPU))
    assert found.named == {NextAction.RESET_GPU, NextAction.REPLACE}
    finding = Finding("hardware.gpu[3].power_brake", "hardware", Outcome.FAIL, Severity.CRITICAL, hint="check power supplies")
    (checked,) = of_checks("n2", [finding])
    assert (checked.device, checked.repair) == ("gpu3", Repair(Component.POWER, NextAction.CHECK_POWER))
    assert checked.named == {NextAction.CHECK_POWER}


def test_what_is_right() -> None:
    best = grade(ORACLE, [a_statement(Outcome.FAIL, "gpu3", RESET, REPLACE, RESET)], [], frozenset())
    assert (best.detected, best.held, best.right_component, best.right_action, best.named_action, best.hint_names_it) == (True,) * 6


@pytest.mark.parametrize(
    ("shown", "healthy", "expected"),
    [
        ([], [], (False, False, False, False, False)),
        ([a_statement()], [a_statement()], (False, False, False, False, False)),
        ([a_statement(node="n3")], [], (False, False, False, False, False)),
        ([a_statement(Outcome.WARN, "gpu3", RESET, RESET)], [], (True, False, True, True, True)),
        ([a_statement(Outcome.FAIL, "gpu4", RESET, RESET)], [], (True, True, False, False, False)),
        ([a_statement(Outcome.FAIL, "gpu3", REPLACE, REPLACE, RESET)], [], (True, True, True, False, True)),
        ([a_statement(Outcome.FAIL, "gpu3"), a_statement(Outcome.WARN, "gpu3", RESET, RESET)], [], (True, True, True, False, False)),
    ],
)
def test_what_is_not(shown: list[Statement], healthy: list[Statement], expected: tuple[bool, ...]) -> None:
    found = grade(ORACLE, shown, healthy, frozenset())
    assert (found.detected, found.held, found.right_component, found.right_action, found.named_action) == expected


def test_a_hint_that_does_not_name_the_action_of_its_result_is_counted() -> None:
    assert not grade(ORACLE, [a_statement(Outcome.FAIL, "gpu3", RESET, REPLACE)], [], frozenset()).hint_names_it
    assert grade(ORACLE, [a_statement(Outcome.FAIL, "gpu3", None, REPLACE)], [], frozenset()).hint_names_it


def test_level_full_names_the_adapter_over_which_nccl_fails() -> None:
    """The incident nccl#1715; at `standard` the node is found, and the hint leads to the adapter."""
    row = next(row for row in ROWS if row.incident == "nccl#1715")
    (oracle,) = row.oracle
    rack = Rack("twin0", row.changes)
    graded = {}
    for level in ("standard", "full"):
        stated, healthy = (of_gates(burn_in(r, level)) for r in (rack, Rack("twin0")))
        found = grade(oracle, stated, healthy, frozenset({oracle.node}))
        graded[level] = (found.held, found.right_component, found.right_action)
        assert {s.node for s in stated if s.outcome in HOLDS} == {oracle.node}
    assert graded == {"standard": (True, False, False), "full": (True, True, True)}


def test_a_gpu_that_got_slower_is_found_where_it_is_known() -> None:
    """A rate 4 % low is within what good GPUs differ by: only the GPU's own earlier nights show it."""
    row = next(row for row in ROWS if row.id == "two_gpus_of_two_nodes_4_percent_low")
    assert [graded_row(row, known=known)["right_component"] for known in (False, True)] == [False, True]


def test_noise_of_a_night_leaves_the_parts_as_they_are() -> None:
    rack = Rack("twin0")
    night = replace(rack, measured="night 1")
    assert [r.bin_of("n1", 3) for r in (rack, night)] == [rack.bin_of("n1", 3)] * 2
    assert rack.spread(0.01, "gemm", "n1", 3) != night.spread(0.01, "gemm", "n1", 3)


def test_a_slice_of_a_gb200_rack() -> None:
    found = {row.id: tried(row) for row in ROWS if row.id in TRAYS}
    graded = {name: (row["held"], row["right_component"], row["right_action"], row["shown_by"][:1]) for name, row in found.items()}
    assert graded == TRAYS
    assert all(row["healthy_nodes_held"] == [] for row in found.values())


def test_a_switch_tray_that_is_off_is_the_fault_of_no_tray() -> None:
    row = next(row for row in ROWS if row.id == "switch_tray_failed")
    rack = rack_of(GB200_NVL72, "twin0", row.changes)
    with rack.kind.printing():
        found = findings_of_rack(rack, GB200_NVL72.nodes)
    bad = {node: [f for f in own if f.outcome in HOLDS] for node, own in found.items()}
    assert all({f.outcome for f in own} == {Outcome.FAIL} for own in bad.values())
    named = [f for own in bad.values() for f in own if f.check == "nvlink_domain.rack.switch_trays"]
    assert len(named) == len(GB200_NVL72.nodes)
    assert {f.found for f in named} == {"hardware.gpu[*].nvlinks: 16, down: 4, 5"}
    assert {s.repair.component for own in bad.items() for s in of_checks(*own)} == {Component.NVSWITCH}


def test_trays_that_do_not_know_each_other_are_no_matter_of_the_network() -> None:
    """Two trays are good in every group that lacks one of them, so no search names either; uplinks and spine carry none of their NVLink."""
    row = next(row for row in ROWS if row.id == "imex_with_another_nodes_file")
    rack = rack_of(GB200_NVL72, "twin0", row.changes)
    with rack.kind.printing():
        bad = [r for r in burn_in(rack, gates=["nccl_group"]) if r.outcome in HOLDS]
    assert {r.node for r in bad} == set(GB200_NVL72.nodes)
    assert all("nvidia-imex-ctl -N" in r.hint and "nodes_config.cfg" in r.hint and "spine" not in r.hint for r in bad)


def test_a_healthy_gb200_rack_holds_no_tray() -> None:
    stated = stated_about(rack_of(GB200_NVL72, "healthy0"), GB200_NVL72.nodes)
    assert {s.outcome for s in stated} == {Outcome.WARN}
    assert {s.key.partition(".")[0] for s in stated} <= {"rdma_pair", "rdma_pair_gpu"}


def test_the_printers_print_hgx_nodes_again_after_a_rack_of_trays() -> None:
    with GB200_NVL72.printing():
        assert device_at("0000:29:00") == "gpu0"
    assert device_at("0000:29:00") == ""


def test_a_slice_of_the_drill() -> None:
    found = {row.id: tried(row) for row in ROWS if row.id in SLICE}
    graded = {name: (row["detected"], row["right_component"], row["right_action"]) for name, row in found.items()}
    assert graded == SLICE
    assert all(row["healthy_nodes_held"] == [] for row in found.values())
    healthy = stated_about(Rack("healthy0"), HGX_H100.nodes[:1])
    assert healthy
    assert {s.outcome for s in healthy} == {Outcome.WARN}


@pytest.mark.parametrize("row", [row for row in ROWS if row.added_gates], ids=lambda r: r.id)
def test_added_gates_find_what_they_are_for(row: Row) -> None:
    """In a burn-in of these gates alone: the others have nothing to do with it."""
    held, shown = ADDED[row.id]
    (oracle,) = row.oracle
    # A collision of another adapter would be stated, too.
    rack = Rack(seed_of(row), row.changes, Noise(collisions=0.0), ADDED_GATES)
    stated = of_gates(burn_in(rack, gates=ADDED_GATES))
    found = grade(oracle, stated, [], frozenset({oracle.node}))
    assert (found.held, found.shown_by) == (held, tuple(filter(None, [shown])))
    assert found.right_component == bool(shown)
    assert found.right_action == (bool(shown) and not row.must_pass)
    assert found.hint_names_it
    assert {s.node for s in stated if s.outcome in HOLDS} == ({oracle.node} if held else set())


def test_each_row_of_added_gates_is_held_to_a_result() -> None:
    assert set(ADDED) == {row.id for row in ROWS if row.added_gates}
    assert {row.id for row in ROWS if row.must_pass} == {
        "disk_low_in_one_of_three_measurements",
        "few_corrected_errors_while_memory_is_loaded",
        "nccl_low_in_one_of_two_measurements",
        "node_with_cables_50_m_longer",
        "whole_tray_low_by_binning",
        "tray_slows_down_by_software_for_seconds",
    }


def test_the_profile_without_added_gates_does_not_see_a_flipped_bit() -> None:
    row = next(row for row in ROWS if row.id == "product_with_one_flipped_bit")
    assert of_gates(burn_in(Rack("twin0", row.changes), gates=["gpu_stress", "gpu_results"])) == ()
