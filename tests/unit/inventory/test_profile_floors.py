"""The floors of every profile: none is missing for a number of nodes, and healthy nodes reach them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest

from clusterctl.core.gates.gates_profile import profile_of
from clusterctl.core.gates.judging.limits import applicable, floors
from clusterctl.core.gates.planning.devices import gpu_model_of, hcas_of
from clusterctl.core.gates.published import comparable_with
from clusterctl.core.parsers import nvbandwidth, perftest
from clusterctl.model.node import Connection, Node, Place
from support.declared_profiles import declared_profile, profiles_of_the_tree
from support.gates import TODAY
from support.recorded import recorded

if TYPE_CHECKING:
    from clusterctl.core.gates.gates_profile import GatesProfile
    from clusterctl.model.gate_result import Sample

NAMES = profiles_of_the_tree()
PROFILES = pytest.mark.parametrize("name", NAMES)


@cache
def node_of(name: str) -> Node:
    return Node("n1", (name,), Connection("192.0.2.1"), Place(), declared_profile(name))


@cache
def profile(name: str) -> GatesProfile:
    return profile_of(node_of(name), TODAY)


@PROFILES
def test_a_group_of_any_number_of_nodes_has_a_floor_for_each_of_its_runs(name: str) -> None:
    limits = profile(name).for_gate("nccl_group")
    metrics = {b.metric for b in floors(limits)}
    # What is public of the network between two NVL72 racks is about GB300 only.
    assert len(metrics - {"busbw_racks"}) == 2, "the plain run and its variant"
    for nodes in (*range(2, 20), 64, 4096):
        assert {b.metric for b in floors(applicable(limits, nodes))} == metrics, nodes


@PROFILES
def test_the_best_published_numbers_reach_the_floors(name: str) -> None:
    known, node = profile(name), node_of(name)
    gates = set()
    for baseline in floors(known.baselines):
        for number in comparable_with(baseline, known.settings, gpu_model=gpu_model_of(node), hcas=hcas_of(node)):
            assert number.value >= baseline.limit, number
            gates.add(baseline.gate)
    published_collectives = set() if "hgx_b300" in name else {"nccl_node", "nccl_group"}
    assert gates >= {"nvbandwidth", *published_collectives}


@PROFILES
def test_no_floor_with_memory_of_the_host_is_above_what_its_link_to_the_processor_carries(name: str) -> None:
    """PCIe 5.0 x16, also of an adapter of 800 Gb/s, whose other link is that to its GPU (oci-hpc B300MP.xml; Hot Chips 2025)."""
    assert all(b.limit <= 0.8 * 504.0 for b in floors(profile(name).for_gate("rdma_pair")) if b.unit == "Gb/s")


def lowest(samples: tuple[Sample, ...], metric: str) -> float:
    return min(s.value for s in samples if s.metric == metric and not s.status)


def limit_of(name: str, gate: str, metric: str, nodes: int = 1) -> float:
    """The highest floor; recordings at 8 GiB are compared with those for 16."""
    return max(b.limit for b in floors(applicable(profile(name).for_gate(gate), nodes)) if b.metric == metric)


COPIES = ("host_to_device_memcpy_ce", "device_to_host_memcpy_ce", "device_to_device_memcpy_read_ce")


@pytest.mark.parametrize(
    ("name", "file", "metrics"),
    [
        ("profile_hgx_h100_ib", "sparecores-upcloud-GPU-24xCPU-480GB-2xH100.json", COPIES),
        ("profile_hgx_b200_ib", "sparecores-upcloud-GPU-48xCPU-480GB-2xB200.json", COPIES),
        # The virtual machines of this cloud have half of PCIe's bandwidth: 12 and 28 GB/s.
        ("profile_hgx_h100_ib", "sparecores-gcp-a3-highgpu-8g.json", COPIES[2:]),
        ("profile_hgx_a100_ib", "sparecores-gcp-a2-ultragpu-8g.json", COPIES[2:]),
    ],
)
def test_recorded_copies_of_healthy_nodes_reach_the_floors(name: str, file: str, metrics: tuple[str, ...]) -> None:
    samples = nvbandwidth.parse(recorded(f"nvbandwidth/{file}").read_text())
    for metric in metrics:
        assert lowest(samples, metric) >= limit_of(name, "nvbandwidth", metric), metric


@pytest.mark.parametrize("metric", COPIES)
def test_the_recorded_sums_of_a_gb300_tray_reach_the_floors(metric: str) -> None:
    lines = recorded("nvbandwidth/oci-gb300-sum-lines.txt").read_text().splitlines()
    (total,) = [float(line.split()[2]) for line in lines if line.split()[1] == metric]
    assert total / (12 if metric == COPIES[2] else 4) >= limit_of("profile_gb300_nvl72", "nvbandwidth", metric)


def largest(text: str) -> tuple[float, float]:
    """The bus bandwidths out of place and in place at the largest size; the published tables are cut, so no parser takes them."""
    row = [line.split() for line in text.splitlines() if line[:1] == " " and line.split()[0].isdigit()][-1]
    return float(row[7]), float(row[11])


@pytest.mark.parametrize(
    ("name", "gate", "nodes", "file"),
    [
        ("profile_hgx_h200_ib", "nccl_node", 1, "azhpc-h200-8gpu-allreduce-8G.txt"),
        ("profile_gb300_nvl72", "nccl_node", 1, "oci-gb300-allreduce-1tray.txt"),
        ("profile_gb300_nvl72", "nccl_group", 16, "oci-gb300-allreduce-16trays.txt"),
        ("profile_gb200_nvl72", "nccl_group", 18, "coreweave-gb200-72.txt"),
        ("profile_hgx_a100_ib", "nccl_group", 2, "oci-oke-b4.8-a100-slurm.txt"),
    ],
)
def test_recorded_collectives_of_healthy_nodes_reach_the_floors(name: str, gate: str, nodes: int, file: str) -> None:
    text = recorded(f"nccl-tests/{file}").read_text()
    assert min(largest(text)) >= limit_of(name, gate, "busbw", nodes)


def test_a_rack_whose_switches_do_not_reduce_does_not_reach_the_floor() -> None:
    text = recorded("nccl-tests/gb300-4trays-16gpu-2.29.3.txt").read_text()
    assert max(largest(text)) < limit_of("profile_gb300_nvl72", "nccl_group", "busbw", 4)


def test_a_recorded_adapter_reaches_the_floor_of_host_memory() -> None:
    samples = perftest.parse(recorded("perftest/cx7-ndr400-ib_write_bw-cpufreq-conflict.txt").read_text())
    assert lowest(samples, "bandwidth_average") >= limit_of("profile_hgx_h100_ib", "rdma_pair", "bandwidth_average", 2)
