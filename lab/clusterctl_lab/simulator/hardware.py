"""What a kind of machine is made of, as a lab node simulates it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Processor:
    """A processor as the kernel describes it.

    Attributes:
        vendor, family, number, stepping, flags: of /proc/cpuinfo; a processor of Arm describes itself otherwise, and has none of them.
        frequency_driver, governors: of cpufreq; khz: least and most.
        idle_driver, idle_states: of cpuidle, each state with its exit latency in us.
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
    """One kind of machine.

    Attributes:
        profile: the lab's group of variables for it.
        numa_nodes: of all sockets together, each with as many cores; numa_of_slot: where each GPU hangs, and the HCA of its rail.
        memory_kib: of the whole machine; huge_kib_per_node: of a NUMA node, what huge pages may take, for the rest is in use.
        gpu_pci_id, hca_pci_id, nvswitch_pci_id: device number of the PCI function.
        hca_names: as the kernel calls them, by rail; switch_hcas: further HCAs, which are the management functions of NVSwitches, with their addresses.
        pcie_gen: of GPUs and HCAs.
        nvlink_gbs: of one link in one direction, GB/s.
        nvls: the switches reduce, so that NCCL takes NVLS.
        rack_nvlink: the NVLink switches are in trays of the rack, which bring up the fabric; otherwise they are on the board.
        subnet_manager: the fabric manager of the board needs one (nvlsm), for NVSwitches of the fourth generation.
        ethernet: the rails are for RoCE; the adapters can be either, and come as InfiniBand.
        fabric_told: what nvidia-smi says of the fabric: nothing, its state, or its health, too.
        node_busbw_gbs, group_busbw_gbs: all-reduce at large messages over the GPUs of one node, and of several.
        copies_gbs: nvbandwidth's memory copies: host to device, device to host, both at once, between GPUs.
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
    fabric_told: str
    node_busbw_gbs: float
    group_busbw_gbs: float
    copies_gbs: tuple[float, float, float, float]
    subnet_manager: bool = False
    ethernet: bool = False
    switch_hcas: tuple[tuple[str, str], ...] = ()
