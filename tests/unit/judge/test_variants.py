"""Variants of the group's run: each by its own floor, or by its transport where it has none."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.planning.gate_plan import plan_gates
from clusterctl.core.gates.planning.step import BurnInPart
from clusterctl.core.gates.subject import subject_of
from clusterctl.model.errors import ConfigError
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome, RawRecord
from clusterctl.model.level import LEVELS, Level
from clusterctl.model.node import Place
from clusterctl.terminal.gates import show_results
from support.gates import GROUP_FLOOR, NODE_FLOOR, RDMA_FLOOR, TODAY, gates, nccl, node, record
from support.rank_logs import GPUS, rank_document

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.core.gates.subject import Subject

NAMES = ("n1", "n2")
RING = {"ring": {"environment": {"NCCL_ALGO": "Ring"}}}
RING_FLOOR = {**GROUP_FLOOR, "metric": "busbw_ring", "value": 40.0}


def runs(plain: float, ring: float, way: str = "NET/IB/3/GDRDMA") -> list[RawRecord]:
    found = []
    for variant, busbw, used in (("", plain, "NET/IB/3/GDRDMA"), ("@ring", ring, way)):
        argv = ("mpirun", "-x", "NCCL_DEBUG_FILE=x", "all_reduce_perf", "-g", "1")
        text = nccl(busbw, via="", ranks=2 * GPUS)
        found.append(record("nccl_group", "n1", text, step=f"group{variant}", peers=NAMES, argv=argv))
        for i, name in enumerate(NAMES):
            ranks = rank_document(name, i * GPUS, GPUS, 2 * GPUS, used)
            found.append(record("nccl_group", name, ranks, step=f"ranks{variant}", argv=("python3",), peer="n1"))
    return found


def judged(records: list[RawRecord], *floors: dict[str, Any], **settings: Any) -> list[GateResult]:
    declared = gates(
        gates_settings={"nccl_group": {"variants": RING, **settings}}, gates_baselines=[RDMA_FLOOR, NODE_FLOOR, GROUP_FLOOR, *floors]
    )
    subjects = [subject_of(node(n, rails=8, declared=declared), TODAY) for n in NAMES]
    return [r for r in judge(subjects, records, level="standard", gates=["nccl_group"]) if r.node == "n1"]


def test_a_ring_without_a_floor_is_judged_by_its_transport() -> None:
    found = judged(runs(90.0, 5.0))
    assert {r.outcome for r in found} == {Outcome.PASS}
    assert {r.metric for r in found} == {"wrong", "busbw", "transport"}


@pytest.mark.parametrize(("way", "words"), [("NET/IB/3", "without GPUDirect RDMA"), ("NET/Socket/0", "NCCL used NET/Socket")])
def test_a_ring_on_another_transport_fails(way: str, words: str) -> None:
    bad = [r for r in judged(runs(90.0, 90.0, way)) if r.outcome is not Outcome.PASS]
    assert [(r.outcome, r.reason) for r in bad] == [(Outcome.FAIL, GateReason.WRONG_TRANSPORT)]
    assert words in bad[0].detail


@pytest.mark.parametrize(("ring", "outcome"), [(45.0, Outcome.PASS), (35.0, Outcome.COULD_NOT_RUN)])
def test_a_ring_has_a_floor_of_its_own(ring: float, outcome: Outcome) -> None:
    found = {r.metric: r for r in judged(runs(90.0, ring), RING_FLOOR)}
    assert found["busbw"].outcome is Outcome.PASS
    assert found["busbw_ring"].outcome is outcome
    assert found["busbw_ring"].value == ring


def test_the_plain_run_has_no_excuse_in_the_ring() -> None:
    found = {r.metric: r for r in judged(runs(30.0, 90.0), RING_FLOOR)}
    assert found["busbw"].outcome is Outcome.COULD_NOT_RUN
    assert found["busbw_ring"].outcome is Outcome.PASS


def test_wrong_results_of_a_ring_fail() -> None:
    records = runs(90.0, 90.0)
    spoiled = [r for r in records if r.step != "group@ring"]
    bad = record("nccl_group", "n1", nccl(90.0, via="", ranks=2 * GPUS, wrong="3"), step="group@ring", peers=NAMES, argv=records[0].argv)
    assert GateReason.WRONG_RESULTS in {r.reason for r in judged([*spoiled, bad])}


@pytest.mark.parametrize("name", ["Ring", "a b", "ring@all", ""])
def test_names_are_words(name: str) -> None:
    with pytest.raises(ConfigError, match="variants"):
        judged([], variants={name: {"environment": {}}})


TRAYS = {f"r{rack}-n{slot}": f"rack-{rack}" for rack in (0, 1) for slot in (0, 1)}
OVER_RACKS = gates(
    gates_settings={
        "nccl_group": {
            "require_transport": "P2P/MNNVL",
            "forbid_transport": ["NET/Socket", "NET/IB"],
            "variants": {
                "racks": {"environment": {}, "require_transport": "NET/IB", "forbid_transport": ["NET/Socket"], "across_domains": True}
            },
        }
    },
    gates_baselines=[
        RDMA_FLOOR,
        NODE_FLOOR,
        {**GROUP_FLOOR, "value": 800.0},
        {**GROUP_FLOOR, "metric": "busbw_racks", "value": 150.0},
    ],
)


def between_racks(busbw: float, *, lost: str = "") -> list[GateResult]:
    """Both racks over NVLink by themselves, then all trays over the network; `lost` uses TCP."""
    names = list(TRAYS)
    records: list[RawRecord] = []
    for variant, members, busbw_gbs, way in (
        ("", names[:2], 900.0, "P2P/MNNVL"),
        ("", names[2:], 900.0, "P2P/MNNVL"),
        ("@racks", names, busbw, "NET/IB/3/GDRDMA"),
    ):
        argv, ranks = ("mpirun", "-x", "NCCL_DEBUG_FILE=x", "all_reduce_perf", "-g", "1"), len(members) * GPUS
        text = nccl(busbw_gbs, via="", ranks=ranks)
        records.append(record("nccl_group", members[0], text, step=f"group{variant}", peers=tuple(members), argv=argv))
        for i, name in enumerate(members):
            used = "NET/Socket/0" if variant and name == lost else way
            log = rank_document(name, i * GPUS, GPUS, ranks, used)
            records.append(record("nccl_group", name, log, step=f"ranks{variant}", argv=("python3",), peer=members[0]))
    subjects = [subject_of(replace(node(n, rails=8, declared=OVER_RACKS), place=Place(rack=r)), TODAY) for n, r in TRAYS.items()]
    return list(judge(subjects, records, level="standard", gates=["nccl_group"]))


def test_the_network_between_racks_proves_every_tray() -> None:
    found = between_racks(190.0)
    assert {(r.node, r.outcome) for r in found} == {(name, Outcome.PASS) for name in TRAYS}
    assert {len(r.peers) for r in found if r.metric == "busbw_racks"} == {4}
    assert {len(r.peers) for r in found if r.metric == "busbw"} == {2}


def test_a_slow_network_between_racks_admits_no_tray() -> None:
    found = {(r.node, r.outcome) for r in between_racks(90.0) if r.metric == "busbw_racks"}
    assert found == {(name, Outcome.COULD_NOT_RUN) for name in TRAYS}


def test_a_tray_that_crosses_by_tcp_is_named() -> None:
    failed = {(r.node, r.reason) for r in between_racks(40.0, lost="r1-n1") if r.outcome is Outcome.FAIL}
    assert failed == {("r1-n1", GateReason.WRONG_TRANSPORT)}


ADAPTERS = {f"adapter-{i}" for i in range(8)}


def launched(subjects: Sequence[Subject], level: Level) -> dict[str, tuple[str, ...]]:
    """Variant -> the command line of its run on the last rung."""
    steps = plan_gates(subjects, level, ["nccl_group"], BurnInPart.GROUP).steps["n1"]
    return {s.name.partition("@")[2]: s.argv for s in steps if s.peers}


@pytest.mark.parametrize(
    ("level", "expected"), [("standard", {"", "ring"}), ("full", {"", "ring", "alltoall", "reducescatter", "sendrecv", "small", *ADAPTERS})]
)
def test_other_collectives_and_small_messages_are_measured_at_full(level: Level, expected: set[str]) -> None:
    declared = gates(gates_levels={name: ["nccl_group"] for name in LEVELS})
    subjects = [subject_of(node(n, rails=8, declared=declared), TODAY) for n in NAMES]
    runs_of = launched(subjects, level)
    assert set(runs_of) == expected
    if level == "full":
        assert "alltoall_perf" in runs_of["alltoall"]
        assert "reduce_scatter_perf" in runs_of["reducescatter"]
        assert "sendrecv_perf" in runs_of["sendrecv"]
        assert {"NCCL_IB_HCA==mlx5_3", "NCCL_ALGO=Ring", "NCCL_NVLS_ENABLE=0"} <= set(runs_of["adapter-3"])
        assert not any("NCCL_IB_HCA" in word for name in set(runs_of) - ADAPTERS for word in runs_of[name])
        words = runs_of["small"]
        assert words[words.index("-b") : words.index("-b") + 4] == ("-b", "1048576", "-e", "1048576")


def test_one_adapter_at_a_time_needs_several_and_equal_names() -> None:
    declared = gates(gates_levels={name: ["nccl_group"] for name in LEVELS})
    both = [subject_of(node(n, rails=2, declared=declared), TODAY) for n in NAMES]
    other = replace(both[1], hcas=(both[1].hcas[0], replace(both[1].hcas[1], name="mlx5_bond_0")))
    assert set(launched(both, "full")) & ADAPTERS == {"adapter-0", "adapter-1"}
    assert set(launched([both[0], other], "full")) & ADAPTERS == {"adapter-0"}
    single = [subject_of(node(n, rails=1, declared=declared), TODAY) for n in NAMES]
    assert set(launched(single, "full")) & ADAPTERS == set()


EACH = gates(gates_levels={name: ["nccl_group"] for name in LEVELS}, gates_baselines=[RDMA_FLOOR, NODE_FLOOR, GROUP_FLOOR])
LEFT_OUT = "the variant adapter left out rail 1 of this group of 2 nodes: its adapter is mlx5_1 on n1; mlx5_bond_0 on n2"


def among_names(level: Level, *, other: str, rails: int = 2, partner: bool = False, step: str = "group") -> list[GateResult]:
    """The plain run of two nodes, the second of which names the adapter of rail 1 `other`."""
    one, two = (subject_of(node(n, rails=rails, declared=EACH), TODAY, partner=partner and n == "n2") for n in NAMES)
    two = replace(two, hcas=tuple(replace(h, name=other) if h.rail == 1 else h for h in two.hcas))
    records = [replace(r, step=step) if r.step == "group" else r for r in runs(90.0, 90.0) if "@" not in r.step]
    return [r for r in judge([one, two], records, level=level, gates=["nccl_group"]) if r.rule == "coverage"]


def test_a_rail_that_is_left_out_for_its_names_is_a_result_that_names_nodes_and_rail(capsys: pytest.CaptureFixture[str]) -> None:
    found = among_names("full", other="mlx5_bond_0")
    assert [(r.node, r.device, r.outcome, r.reason) for r in found] == [
        ("n1", "mlx5_1", Outcome.NOT_APPLICABLE, GateReason.NOT_COVERED),
        ("n2", "mlx5_bond_0", Outcome.NOT_APPLICABLE, GateReason.NOT_COVERED),
    ]
    assert {r.detail for r in found} == {LEFT_OUT}
    assert all("ofed_device_names" in r.hint for r in found)
    show_results("burnin", "table", {"run": "r", "directory": "d"}, found, NAMES)
    assert " ".join(capsys.readouterr().out.split()).count(f"not covered: nccl_group: {LEFT_OUT}") == 1


def test_a_partner_is_named_and_not_judged() -> None:
    assert [(r.node, r.detail) for r in among_names("full", other="mlx5_bond_0", partner=True)] == [("n1", LEFT_OUT)]


@pytest.mark.parametrize(
    ("level", "how"),
    [
        ("full", {"other": "mlx5_1"}),
        ("full", {"other": "mlx5_9", "rails": 1}),
        ("standard", {"other": "mlx5_bond_0"}),
        ("full", {"other": "mlx5_bond_0", "step": "group.all-search1"}),
    ],
    ids=["equal names", "one adapter", "a level without the variant", "a run of a search"],
)
def test_nothing_is_left_out(level: Level, how: dict[str, Any]) -> None:
    assert among_names(level, **how) == []


@pytest.mark.parametrize(("way", "outcome"), [("NET/IB/0", Outcome.PASS), ("NET/Socket/0", Outcome.FAIL)])
def test_a_run_over_one_adapter_names_it_and_needs_no_gpudirect(way: str, outcome: Outcome) -> None:
    records = [replace(r, step=r.step.replace("@ring", "@adapter-5")) for r in runs(90.0, 5.0, way)]
    found = judged(records, variants={"adapter": {"each_adapter": True, "environment": {}}})
    assert {(r.device, r.outcome) for r in found if r.metric == "transport"} == {("", Outcome.PASS), ("mlx5_5", outcome)}
    assert [r.device for r in found if r.metric == "busbw"] == [""]


def test_a_variant_has_the_correctness_of_its_own_collective() -> None:
    plain, ring = runs(90.0, 90.0)[0], runs(90.0, 90.0)[3]
    wrong = replace(ring, stdout=nccl(90.0, via="", ranks=2 * GPUS, wrong="3", closing="1 FAILED"))
    bad = [r for r in judged([plain, wrong]) if r.reason is GateReason.WRONG_RESULTS]
    assert [(r.outcome, r.metric) for r in bad] == [(Outcome.COULD_NOT_RUN, "wrong")]
