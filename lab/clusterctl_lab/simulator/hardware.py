"""The description of the hardware that a lab node simulates."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True)
class Processor:
    """A processor as the kernel describes it.

    Attributes:
        vendor, family, number, stepping, flags: fields of /proc/cpuinfo; empty for Arm processors, which have other fields.
        frequency_driver, governors: of cpufreq.
        khz: minimum and maximum frequency.
        idle_driver, idle_states: of cpuidle; each state has a name and an exit latency in us.
    """

    model: str
    vendor: str
    family: int
    number: int
    stepping: int
    flags: str
    frequency_driver: str
    governors: str
    khz: tuple[int, int]
    idle_driver: str
    idle_states: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Hardware:
    """One kind of simulated machine.

    Attributes:
        profile: inventory group of the lab with its variables.
        numa_nodes: number over all sockets; all have the same number of cores.
        numa_of_slot: NUMA node of each GPU and of the HCA of its rail.
        memory_kib: memory of the whole machine.
        huge_kib_per_node: memory of a NUMA node that huge pages may use; the rest is in use.
        gpu_pci_id, hca_pci_id, nvswitch_pci_id: PCI device ids.
        hca_names: kernel names of the HCAs, by rail.
        switch_hcas: names and PCI addresses of further HCAs, the management functions of NVSwitches.
        other_hcas: names and PCI addresses of the ports for management and storage; the second function of each card and that of `management` are Ethernet, the
            others InfiniBand.
        management: PCI address of the port that carries the node's own network; empty = none of the HCAs.
        pcie_gen: PCIe generation of GPUs and HCAs.
        nvlink_gbs: bandwidth of one NVLink in one direction in GB/s.
        nvls: the NVSwitches support NVLink SHARP, so NCCL uses NVLS.
        rack_nvlink: the NVSwitches are in switch trays of the rack, which bring up the fabric; otherwise they are on the board.
        subnet_manager: the fabric manager needs a subnet manager (nvlsm), as fourth-generation NVSwitches do.
        ethernet: the profile uses RoCE. The adapters support both link types and are delivered as InfiniBand.
        fabric_reporting: what nvidia-smi shows of the fabric: nothing (empty), its `state`, or its state and `health`.
        node_busbw_gbs, group_busbw_gbs: all-reduce bus bandwidth at large messages within one node and across nodes, in GB/s.
        pair_busbw_gbs: the same for two nodes, which NCCL joins by a tree where each reduces in its NVSwitches first; 0 = as across nodes.
        network_busbw_gbs: the same for trays of a rack without its NVLink (NCCL_MNNVL_ENABLE=0).
        gemm_tflops: rate of matrix multiplication of one GPU under load, in BF16.
        copies_gbs: nvbandwidth results in GB/s: host to device, device to host, both at once, between GPUs.
    """

    name: str
    title: str
    profile: str
    processor: Processor
    sockets: int
    cores_per_socket: int
    threads_per_core: int
    numa_nodes: int
    numa_of_slot: tuple[int, ...]
    memory_kib: int
    huge_kib_per_node: int
    gpu_model: str
    gpu_architecture: str
    gpu_memory_mib: int
    gpu_power_min_w: int
    gpu_power_limit_w: int
    gpu_pci_id: int
    gpu_addresses: tuple[str, ...]
    hca_names: tuple[str, ...]
    hca_addresses: tuple[str, ...]
    hca_pci_id: int
    hca_type: str
    hca_family: str
    hca_board: str
    hca_firmware: str
    line_rate_gbps: int
    nvswitch_addresses: tuple[str, ...]
    nvswitch_pci_id: int
    pcie_gen: int
    nvlinks: int
    nvlink_gbs: str
    nvls: bool
    rack_nvlink: bool
    fabric_reporting: str
    node_busbw_gbs: float
    group_busbw_gbs: float
    copies_gbs: tuple[float, float, float, float]
    gemm_tflops: float
    pair_busbw_gbs: float = 0.0
    network_busbw_gbs: float = 0.0
    subnet_manager: bool = False
    ethernet: bool = False
    switch_hcas: tuple[tuple[str, str], ...] = ()
    other_hcas: tuple[tuple[str, str], ...] = ()
    management: str = ""


def with_management(kind: Hardware, adapter: Mapping[str, str] | None) -> Hardware:
    """The same machine with one more adapter, `name` at `address`, for its own network: the kernel's numbers of those behind it are one higher."""
    if not adapter or kind.management:
        return kind
    first = _number(adapter["name"])
    names, switches = (_renumbered(kind.hca_names, first), _renumbered([name for name, _ in kind.switch_hcas], first))
    return replace(
        kind,
        hca_names=names,
        switch_hcas=tuple(zip(switches, (address for _, address in kind.switch_hcas), strict=True)),
        other_hcas=((adapter["name"], adapter["address"]),),
        management=adapter["address"],
    )


def _renumbered(names: Iterable[str], first: int) -> tuple[str, ...]:
    return tuple(f"mlx5_{_number(name) + (_number(name) >= first)}" for name in names)


def _number(name: str) -> int:
    return int(re.sub(r"\D+", " ", name).split()[-1])
