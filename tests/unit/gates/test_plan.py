from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterctl.core.gates.nccl_group import GATE as GROUP
from clusterctl.core.gates.planning.gate_plan import plan_gates
from clusterctl.core.gates.planning.step import BurnInPart, GateStep, Obstacle, Side
from clusterctl.core.gates.subject import subject_of
from clusterctl.model.errors import ConfigError
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.level import LEVELS
from clusterctl.model.node import Node, Place
from support.gates import ALL, GROUP_FLOOR, NODE_FLOOR, RDMA_FLOOR, TODAY, gates, node, nodes, plan

PLAIN: dict[str, Any] = {"nccl_group": {"variants": {}}}


def pair_steps(count: int, **how: int) -> list[tuple[str, GateStep]]:
    return [(name, s) for name, own in plan(nodes(count, **how), ["rdma_pair"]).steps.items() for s in own]


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 17), st.integers(1, 4))
def test_both_sides_of_a_meeting_agree(count: int, rails: int) -> None:
    steps = pair_steps(count, rails=rails)
    by_meeting: dict[int, list[tuple[str, GateStep]]] = {}
    for name, step in steps:
        by_meeting.setdefault((step.round, step.port).__hash__() ^ hash(frozenset({name, step.peer})), []).append((name, step))
    for sides in by_meeting.values():
        (one, first), (other, second) = sides
        assert (first.peer, second.peer) == (other, one)
        assert (first.device, first.peer_device) == (second.peer_device, second.device)
        assert {first.side, second.side} == {Side.SERVER, Side.CLIENT}
        assert first.port == second.port
        assert first.batch == second.batch


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 12), st.integers(1, 4))
def test_a_node_never_uses_a_port_twice_and_is_in_one_round_at_a_time(count: int, rails: int) -> None:
    for own in plan(nodes(count, rails=rails), ["rdma_pair"]).steps.values():
        assert len({s.port for s in own}) == len(own)
        for _, batch in groupby(own, key=lambda s: s.batch):
            same = list(batch)
            assert len({s.peer for s in same}) == 1
            assert len(same) == rails
        assert len({s.name for s in own}) == len(own)


@pytest.mark.parametrize("gate", ["rdma_pair", "rdma_pair_gpu"])
@pytest.mark.parametrize("count", [2, 3, 4, 7])
def test_every_meeting_has_both_directions_one_after_the_other(gate: str, count: int) -> None:
    levels = {level: [gate] for level in LEVELS}
    some = nodes(
        count, declared=gates(gates_levels=levels, gates_baselines=[{**RDMA_FLOOR, "gate": gate}], gates_settings={gate: {"rounds": 0}})
    )
    for name, own in plan(some, [gate]).steps.items():
        by_device = {(s.peer, s.device): [t for t in own if (t.peer, t.device) == (s.peer, s.device)] for s in own if s.gate == gate}
        assert len(by_device) == (count - 1) * 2, name
        for first, second in by_device.values():
            assert {first.side, second.side} == {Side.SERVER, Side.CLIENT}
            assert first.round == second.round
            assert first.batch < second.batch


def test_the_client_connects_to_the_servers_address() -> None:
    for name, step in pair_steps(3):
        host = f"10.0.0.{step.peer[1:]}"
        assert step.peer_address == host
        assert (step.argv[-1] == host) == (step.side is Side.CLIENT), name


def test_a_peer_address_of_the_inventory_wins_over_the_ssh_address() -> None:
    some = [node(f"n{i}", declared=gates(gates_peer_address=f"192.168.7.{i}")) for i in (1, 2)]
    assert {s.peer_address for own in plan(some, ["rdma_pair"]).steps.values() for s in own} == {"192.168.7.1", "192.168.7.2"}


def test_commands_are_argument_lists_with_the_profile_s_values() -> None:
    declared = gates(gates_settings={"rdma_pair": {"gid_index": 3, "traffic_class": 106, "duration_s": 7}})
    made = plan([node("n1", declared=declared), node("n2", declared=declared)], ["rdma_pair"])
    server = next(s for s in made.steps["n1"] if s.device == "mlx5_1")
    assert " ".join(server.argv) == (f"ib_write_bw -d mlx5_1 -p {server.port} -s 8388608 -q 4 -D 7 -F --report_gbits -x 3 --tclass 106")


def test_levels_choose_gates_and_diagnostic() -> None:
    quick = plan(nodes(2), level="quick")
    assert [s.gate for s in quick.steps["n1"]] == ["dcgm_diag"]
    assert quick.steps["n1"][0].argv == ("dcgmi", "diag", "-r", "1", "-j")
    assert plan(nodes(2), level="full").steps["n1"][0].argv[3] == "4"


def test_node_gates_come_before_pairs_before_the_group() -> None:
    own = plan(nodes(3)).steps["n1"]
    assert [gate for gate, _ in groupby(s.gate for s in sorted(own, key=lambda s: s.batch))] == [
        "dcgm_diag",
        "nccl_node",
        "rdma_pair",
        "nccl_group",
    ]


def test_a_group_run_starts_on_one_node_and_names_all() -> None:
    made = plan(nodes(3, declared=gates(gates_settings=PLAIN)), ["nccl_group"])
    assert [[s.name for s in own] for own in made.steps.values()] == [["group", "ranks"], ["member", "ranks"], ["member", "ranks"]]
    assert "NCCL_DEBUG_FILE=nccl_rank.%h.%p.log" in made.steps["n1"][0].argv
    assert {(own[1].argv[:2], own[1].batch) for own in made.steps.values()} == {(("python3", "rank_log.py"), made.steps["n1"][0].batch + 1)}
    step = made.steps["n1"][0]
    assert step.members == (("n2", "10.0.0.2"), ("n3", "10.0.0.3"))
    for name in ("n2", "n3"):
        own = made.steps[name][0]
        assert (own.side, own.argv, own.batch, own.peer, own.peer_address) == (Side.MEMBER, ("orted",), step.batch, "n1", "10.0.0.1")
        assert own.timeout_s > step.timeout_s
    assert step.peers == ("n1", "n2", "n3")
    assert step.argv[:6] == ("mpirun", "--allow-run-as-root", "-np", "24", "--host", "localhost:8,10.0.0.2:8,10.0.0.3:8")
    assert "NCCL_DEBUG=INFO" in step.argv


def test_each_variant_is_a_run_after_the_plain_one() -> None:
    made = plan(nodes(2), ["nccl_group"])
    assert {n: [s.name for s in own] for n, own in made.steps.items()} == {
        "n1": ["group", "ranks", "group@ring", "ranks@ring"],
        "n2": ["member", "ranks", "member@ring", "ranks@ring"],
    }
    assert [[s.batch for s in own] for own in made.steps.values()] == [[0, 1, 2, 3]] * 2
    plain, _, ring, logs = made.steps["n1"]
    assert set(ring.argv) - set(plain.argv) == {"NCCL_NVLS_ENABLE=0", "NCCL_ALGO=Ring", "NCCL_DEBUG_FILE=nccl_rank-ring.%h.%p.log"}
    assert logs.argv[-1] == "nccl_rank-ring.*.log"


def test_pairs_of_all_nodes_are_a_rung() -> None:
    found = ladder([Place(rack="a")] * 5, rungs=["pair", "all"])
    assert found == {"pair": [("n1", "n2"), ("n3", "n4", "n5")], "all": [("n1", "n2", "n3", "n4", "n5")]}
    assert ladder([Place()] * 2, rungs=["pair", "all"]) == {"all": [("n1", "n2")]}


def ladder(places: list[Place], **settings: Any) -> dict[str, list[tuple[str, ...]]]:
    """Rung -> the groups that are measured."""
    declared = gates(gates_settings={"nccl_group": {"variants": {}, **settings}})
    subjects = [subject_of(replace(node(f"n{i}", declared=declared), place=p), TODAY) for i, p in enumerate(places, 1)]
    found = {}
    for rung in GROUP.rungs(subjects, "standard"):
        made = plan_gates(subjects, "standard", ["nccl_group"], BurnInPart.GROUP, "" if rung == "all" else rung)
        found[rung] = [s.peers for own in made.steps.values() for s in own if s.peers]
    return found


def test_a_ladder_measures_racks_before_all() -> None:
    assert ladder([Place(rack="a"), Place(rack="b"), Place(rack="a"), Place(rack="b"), Place(rack="c")]) == {
        "rack": [("n1", "n3"), ("n2", "n4")],
        "all": [("n1", "n2", "n3", "n4", "n5")],
    }


@pytest.mark.parametrize("places", [[Place(rack="a"), Place(rack="a")], [Place(rack="a"), Place(rack="b")], [Place(), Place()]])
def test_a_rung_that_would_measure_nothing_new_is_left_out(places: list[Place]) -> None:
    assert ladder(places) == {"all": [("n1", "n2")]}


def test_the_rungs_of_a_profile_follow_the_place_of_its_nodes() -> None:
    places = [Place(rack=f"r{i // 2}", leaf=f"l{i // 2}", su=f"s{i // 4}") for i in range(8)]
    found = ladder(places, rungs=["leaf", "rack", "scalable_unit", "all"])
    assert {rung: [len(g) for g in groups] for rung, groups in found.items()} == {"rack": [2] * 4, "scalable_unit": [4, 4], "all": [8]}


def test_a_node_that_is_alone_on_a_lower_rung_is_no_obstacle() -> None:
    declared = gates()
    subjects = [subject_of(replace(node(f"n{i}", declared=declared), place=Place(rack=r)), TODAY) for i, r in enumerate("aab", 1)]
    made = plan_gates(subjects, "standard", ["nccl_group"], BurnInPart.GROUP, "rack")
    assert made.impossible == {}
    assert made.steps["n3"] == ()


def test_the_launcher_reaches_the_others_through_their_agents_at_the_declared_addresses() -> None:
    declared = [gates(gates_peer_address=a, gates_settings={"nccl_group": {"control_port": 20000}}) for a in ("172.16.1.9", "172.16.2.4")]
    made = plan([node(f"n{i}", declared=d) for i, d in enumerate(declared, 1)], ["nccl_group"])
    words = list(made.steps["n1"][0].argv)
    assert words[words.index("--host") + 1] == "localhost:8,172.16.2.4:8"
    parameters = {words[i + 1]: words[i + 2] for i, word in enumerate(words) if word == "--mca"}
    assert parameters["plm_rsh_agent"] == "python3 rank_starter.py"
    assert parameters["mca_base_param_files"] == "open_mpi.conf"
    assert [made.steps[n][0].address for n in ("n1", "n2")] == ["172.16.1.9", "172.16.2.4"]
    assert made.rendezvous.control_port == 20000


def mca(*arguments: str) -> dict[str, list[str]]:
    """Parameter -> its values on mpirun's command line."""
    declared = gates(gates_settings={"nccl_group": {"mpi_arguments": list(arguments)}})
    words = plan(nodes(2, declared=declared), ["nccl_group"]).steps["n1"][0].argv
    found: dict[str, list[str]] = {}
    for i, word in enumerate(words):
        if word in ("--mca", "-mca"):
            found.setdefault(words[i + 1], []).append(words[i + 2])
    return found


def test_mpi_itself_stays_off_the_adapters_that_are_measured() -> None:
    found = mca()
    assert (found["pml"], found["btl"], found["coll"]) == (["ob1"], ["tcp,self,vader"], ["^hcoll,ucc"])


@pytest.mark.parametrize("option", ["--mca", "-mca"])
def test_a_declared_parameter_of_mpi_replaces_that_of_the_gate(option: str) -> None:
    assert mca(option, "btl", "tcp,self", "--mca", "btl_tcp_if_include", "eth1")["btl"] == ["tcp,self"]
    assert mca(option, "plm_rsh_num_concurrent", "7")["plm_rsh_num_concurrent"] == ["7"]


def test_mpirun_starts_all_daemons_of_a_large_group_at_once() -> None:
    words = plan(nodes(200), ["nccl_group"]).steps["n1"][0].argv
    assert words[words.index("plm_rsh_num_concurrent") + 1] == "200"


def tray(name: str, domain: str) -> Node:
    declared = gates(gates_settings={"nccl_group": {"require_transport": "P2P/MNNVL"}})
    return replace(node(name, gpus=4, declared=declared), place=Place(rack=domain))


def test_over_nvlink_each_rack_is_a_group_of_its_own_at_the_same_time() -> None:
    made = plan([tray("n1", "rack-1"), tray("n2", "rack-2"), tray("n3", "rack-1"), tray("n4", "rack-2")], ["nccl_group"])
    steps = {name: own[0] for name, own in made.steps.items() if own[0].peers}
    assert {name: s.peers for name, s in steps.items()} == {"n1": ("n1", "n3"), "n2": ("n2", "n4")}
    assert len({s.batch for s in steps.values()}) == 1
    assert {made.steps[n][0].peer for n in ("n3", "n4")} == {"n1", "n2"}
    odd, even = ("10.0.0.1", "10.0.0.3"), ("10.0.0.2", "10.0.0.4")
    assert made.nvlink_groups == {"n1": odd, "n3": odd, "n2": even, "n4": even}
    assert set(made.busy) == {"n1", "n2", "n3", "n4"}


_NETWORK = {"environment": {"NCCL_MNNVL_ENABLE": "0"}, "require_transport": "NET/IB", "forbid_transport": ["NET/Socket"]}
NETWORK = {"network": _NETWORK, "racks": {**_NETWORK, "across_domains": True}}


def racks_of_trays(racks: int, trays: int, **more: Any) -> list[Node]:
    over_nvlink = {"require_transport": "P2P/MNNVL", "forbid_transport": ["NET/Socket", "NET/IB"], "variants": NETWORK, **more}
    declared = gates(gates_settings={"nccl_group": over_nvlink})
    places = [(f"r{r}-n{t}", Place(rack=f"rack-{r}")) for r in range(racks) for t in range(trays)]
    return [replace(node(name, gpus=4, declared=declared), place=place) for name, place in places]


def test_the_network_between_racks_is_measured_over_all_of_them() -> None:
    """Over NVLink each rack by itself; nothing but the adapters joins two of them."""
    made = plan(racks_of_trays(2, 2), ["nccl_group"])
    launched = {(s.name, s.peers): s for own in made.steps.values() for s in own if s.peers}
    first, second = ("r0-n0", "r0-n1"), ("r1-n0", "r1-n1")
    within = {(name, rack) for name in ("group", "group@network") for rack in (first, second)}
    assert set(launched) == {*within, ("group@racks", (*first, *second))}
    crossing = launched["group@racks", (*first, *second)]
    assert "NCCL_MNNVL_ENABLE=0" in crossing.argv
    assert crossing.argv[crossing.argv.index("-np") + 1] == "16"
    assert crossing.batch > launched["group", first].batch == launched["group", second].batch
    own = {s.name: s.peer for s in made.steps["r1-n0"] if s.peer}
    assert own == {"ranks": "r1-n0", "ranks@network": "r1-n0", "member@racks": "r0-n0", "ranks@racks": "r0-n0"}
    assert made.nvlink_groups["r0-n0"] == made.nvlink_groups["r0-n1"] != made.nvlink_groups["r1-n0"]


def test_one_rack_is_measured_once_and_several_by_themselves_first() -> None:
    rungs = {racks: GROUP.rungs([subject_of(n, TODAY) for n in racks_of_trays(racks, 2)], "standard") for racks in (1, 2)}
    assert rungs == {1: ("all",), 2: ("rack", "all")}
    made = plan_gates([subject_of(n, TODAY) for n in racks_of_trays(2, 2)], "standard", ["nccl_group"], BurnInPart.GROUP, "rack")
    launched = {(s.name, len(s.peers)) for own in made.steps.values() for s in own if s.peers}
    assert launched == {("group.rack", 2), ("group.rack@network", 2)}


def test_a_tray_that_is_alone_in_its_rack_takes_no_part_between_racks() -> None:
    made = plan(racks_of_trays(2, 2)[:3], ["nccl_group"])
    assert [name for _, name in made.impossible] == ["r1-n0"]
    assert {(s.name, s.peers) for own in made.steps.values() for s in own if s.peers} == {
        (name, ("r0-n0", "r0-n1")) for name in ("group", "group@network")
    }


def test_nodes_with_and_without_a_variant_are_not_mixed_by_it() -> None:
    made = plan([*racks_of_trays(2, 2), *nodes(2)], ["nccl_group"])
    launched = {s.name: s.peers for own in made.steps.values() for s in own if s.peers and s.name in ("group@racks", "group@ring")}
    assert launched == {"group@racks": ("r0-n0", "r0-n1", "r1-n0", "r1-n1"), "group@ring": ("n1", "n2")}


def test_a_tray_alone_in_its_rack_cannot_be_measured_over_nvlink() -> None:
    made = plan([tray("n1", "rack-1"), tray("n2", "rack-1"), tray("n3", "rack-2")], ["nccl_group"])
    hint = "add a known-good one: `clusterctl burnin n3 --partners NODE`"
    assert made.impossible == {("nccl_group", "n3"): Obstacle(GateReason.NO_PARTNER, "nccl_group needs a second node of rack-2", hint)}
    assert set(made.nvlink_groups) == {"n1", "n2"}


def test_over_the_network_racks_are_one_group_without_a_channel() -> None:
    made = plan([replace(node(f"n{i}"), place=Place(rack=f"rack-{i}")) for i in (1, 2)], ["nccl_group"])
    assert made.steps["n1"][0].peers == ("n1", "n2")
    assert made.nvlink_groups == {}
    assert made.busy == ("n1", "n2")


@pytest.mark.parametrize("gate", ["rdma_pair", "nccl_group"])
def test_a_gate_for_several_nodes_is_impossible_with_one(gate: str) -> None:
    made = plan(nodes(1), [gate])
    assert made.steps["n1"] == ()
    assert "--partners" in made.impossible[gate, "n1"].hint


def test_a_node_without_hcas_is_named() -> None:
    made = plan([*nodes(2), node("n3", rails=0)], ["rdma_pair"])
    assert made.impossible == {("rdma_pair", "n3"): Obstacle(GateReason.NO_DEVICE, "hardware_hcas declares no HCA")}


def test_limited_rounds_are_the_first_of_the_tournament() -> None:
    declared = gates(gates_settings={"rdma_pair": {"rounds": 2}})
    made = plan([node(f"n{i}", declared=declared) for i in range(1, 9)], ["rdma_pair"])
    assert {s.round for own in made.steps.values() for s in own} == {0, 1}


def test_ports_that_do_not_fit_are_an_error() -> None:
    declared = gates(gates_settings={"rdma_pair": {"base_port": 60000, "rounds": 0}})
    some = [node(f"n{i}", rails=8, declared=declared) for i in range(1, 801)]
    with pytest.raises(ConfigError, match="base_port: 800 nodes need 12784 ports"):
        plan(some, ["rdma_pair"])


def test_the_time_limit_holds_all_batches() -> None:
    made = plan(nodes(4))
    batches = {s.batch: s.timeout_s for own in made.steps.values() for s in own}
    assert made.limit_s >= sum(batches.values()) + made.rendezvous.peer_wait_s


def test_the_plan_is_a_function_of_its_input() -> None:
    assert plan(nodes(5)) == plan(nodes(5))
    assert replace(plan(nodes(5)), level="full") != plan(nodes(5))


def test_measurements_are_exclusive_and_snapshots_are_not() -> None:
    declared = gates(gates_allowed_programs=["watcher"], gates_levels=dict.fromkeys(LEVELS, ALL))
    steps = plan(nodes(2, rails=1, declared=declared), [*ALL, "load_errors"]).steps["n1"]
    told = {s.gate: (s.exclusive, s.shares_with) for s in steps if not s.name.startswith("ranks")}
    assert told == {
        "dcgm_diag": (True, ("nv-hostengine", "watcher")),
        "nccl_node": (True, ("watcher",)),
        "rdma_pair": (True, ("watcher",)),
        "nccl_group": (True, ("watcher",)),
        "load_errors": (False, ()),
    }
    assert [s.exclusive for s in steps if s.name.startswith("ranks")] == [False, False]


@pytest.mark.parametrize(
    ("changes", "floor", "expected"),
    [
        # 54 runs of 16 GiB, each byte counted twice, at 300 GB/s: 6.19 s; a hundred times that, and two minutes.
        ({}, 300.0, 739),
        ({"slowdown": 10}, 300.0, 600),
        ({"slowdown": 1000}, 300.0, 6305),
        ({"collective": "all_gather"}, 300.0, 600),
        ({"iterations": 200}, 300.0, 4862),
        ({"timeout_s": 3000}, 300.0, 3000),
        ({"slowdown": 1000, "iterations": 5000}, 50.0, 86400),
    ],
)
def test_a_group_has_time_to_end_at_the_speed_of_tcp(changes: dict[str, Any], floor: float, expected: int) -> None:
    declared = gates(gates_settings={"nccl_group": changes}, gates_baselines=[RDMA_FLOOR, NODE_FLOOR, {**GROUP_FLOOR, "value": floor}])
    steps = plan(nodes(2, rails=8, declared=declared), ["nccl_group"]).steps
    limits = {s.name: s.timeout_s for name in ("n1", "n2") for s in steps[name] if s.name in ("group", "member")}
    assert limits == {"group": expected, "member": expected + 30}


def test_a_group_of_a_size_without_floor_has_its_declared_limit() -> None:
    floors = [RDMA_FLOOR, NODE_FLOOR, {**GROUP_FLOOR, "nodes": 7}]
    steps = plan(nodes(2, declared=gates(gates_baselines=floors)), ["nccl_group"]).steps
    assert [s.timeout_s for s in steps["n1"] if s.name == "group"] == [600]
