"""Healthy simulated nodes show what healthy machines show: they reach the floors of their profile and exceed no published number by much."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.inventory.load import load_profile
from clusterctl.core.gates.gates_profile import profile_of
from clusterctl.core.gates.judging.limits import applicable, floors
from clusterctl.core.gates.planning.devices import gpu_model_of, hcas_of
from clusterctl.core.gates.published import comparable_with
from clusterctl.model.node import Connection, Node, Place
from clusterctl_lab.simulator import gemm_load, hardware_kinds, machine, nccl_tests, peers, perftest, state
from support.lab_machine import lab_machine, simulate_hardware
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.model.gate_result import Baseline
    from clusterctl_lab.simulator.hardware import Hardware

LAB = (ROOT / "inventory" / "common", ROOT / "inventory" / "lab")
KINDS = pytest.mark.parametrize("kind", hardware_kinds.KINDS.values(), ids=list(hardware_kinds.KINDS))
# Nodes differ by 1 to 2 % (device_variation.py); published numbers of one class by 10.
ABOVE = 1.12
_COPIES = ("host_to_device_memcpy_ce", "device_to_host_memcpy_ce", "", "device_to_device_memcpy_read_ce")


def shown(kind: Hardware, floor: Baseline, nodes: int) -> float:
    """What the simulator of this kind shows for the figure of a floor."""
    if floor.gate == "nvbandwidth":
        return kind.copies_gbs[_COPIES.index(floor.metric)]
    if floor.gate == "gpu_stress":
        return gemm_load.rate_gflops(0, state.Faults()) / 1000
    if floor.gate.startswith("rdma_pair"):
        return kind.line_rate_gbps * perftest.PAYLOAD
    group = [(peers.describe_self(), machine.GPUS)] * nodes
    network = floor.metric == "busbw_network"
    return nccl_tests.bus_bandwidth(floor.op, group, rack_nvlink=kind.rack_nvlink and not network, in_a_ring=floor.metric == "busbw_ring")


@KINDS
def test_healthy_nodes_reach_the_floors_of_their_profile(kind: Hardware, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    simulate_hardware(kind, monkeypatch)
    lab_machine(tmp_path, monkeypatch).gpu_stack()
    node = Node("n1", (kind.profile,), Connection("192.0.2.1"), Place(), load_profile(LAB, kind.profile, content=ROOT))
    profile = profile_of(node, date(2026, 11, 23))
    for nodes in (1, 2, 3, 4, 8, 9):
        for floor in floors(applicable(profile.baselines, nodes)):
            if (floor.gate in ("nccl_node", "nvbandwidth", "gpu_stress")) is (nodes == 1):
                value = shown(kind, floor, nodes)
                assert value >= floor.limit * 1.02, (floor, nodes)
                numbers = [
                    p.value
                    for p in comparable_with(floor, profile.settings, gpu_model=gpu_model_of(node), hcas=hcas_of(node))
                    if p.nodes in (None, nodes)
                ]
                assert value <= ABOVE * max(numbers, default=value), (floor, nodes)
