"""The hardware that a lab node stands for: an HGX H100 server with eight NDR HCAs, one per GPU and rail."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

SOCKETS = 2
CORES_PER_SOCKET = 56
THREADS_PER_CORE = 2
CPUS = SOCKETS * CORES_PER_SOCKET * THREADS_PER_CORE
NUMA_NODES = 2
MEMORY_KIB = 2113376000
# Of a NUMA node, what huge pages may take: the rest is in use.
HUGE_KIB_PER_NODE = 900 * 1048576
CPU_MODEL = "Intel(R) Xeon(R) Platinum 8480C"
GPU_MODEL = "NVIDIA H100 80GB HBM3"
GPU_MEMORY_MIB = 81559
GPU_POWER_LIMIT_W = 700
GPU_POWER_MIN_W = 200
GPU_BUSES = ("1a", "40", "53", "66", "9c", "c0", "d2", "e4")
HCA_BUSES = ("18", "3d", "50", "5e", "9a", "bd", "cc", "e0")
NVSWITCH_BUSES = ("05", "06", "07", "08")
NVLINKS = 18
HCA_FIRMWARE = "28.39.3560"
HCA_BOARD = "MT_0000000838"
LINE_RATE_GBPS = 400
GPUS = len(GPU_BUSES)
HCAS = len(HCA_BUSES)


@dataclass(frozen=True)
class Gpu:
    """One GPU of a node; identities follow from the node's name, so they survive reboots."""

    index: int
    uuid: str
    serial: str
    bus_id: str
    numa_node: int


def cpus_of_numa_node(node: int) -> list[int]:
    """Logical CPUs of a NUMA node: a socket's cores, then their second threads."""
    first = node * CORES_PER_SOCKET
    siblings = SOCKETS * CORES_PER_SOCKET
    return [*range(first, first + CORES_PER_SOCKET), *range(siblings + first, siblings + first + CORES_PER_SOCKET)]


def numa_node_of_slot(index: int) -> int:
    """Devices 0-3 hang on socket 0, 4-7 on socket 1."""
    return 0 if index < GPUS // 2 else 1


def gpu(node: str, index: int) -> Gpu:
    """The GPU `index` of a node."""
    h = hashlib.sha256(f"{node}/gpu{index}".encode()).hexdigest()
    uuid = f"GPU-{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:32]}"
    serial = str(1650000000000 + int(h[32:40], 16) % 10_000_000)
    return Gpu(index, uuid, serial, f"00000000:{GPU_BUSES[index].upper()}:00.0", numa_node_of_slot(index))


def hca_guid(node: str, index: int) -> str:
    """Node GUID of an HCA, as sysfs writes it."""
    h = hashlib.sha256(f"{node}/mlx5_{index}".encode()).hexdigest()
    return f"a088:c203:00{h[:2]}:{h[2:6]}"


def hca_lid(node: str, index: int) -> int:
    """Local id of an HCA's port; fixed, as a subnet manager with a guid2lid file keeps it."""
    return 16 + int(hashlib.sha256(f"{node}/lid{index}".encode()).hexdigest()[:4], 16) % 40000


def cpu_list(cpus: list[int]) -> str:
    """`0-55,112-167` from a sorted list."""
    parts: list[str] = []
    start = previous = cpus[0]
    for cpu in [*cpus[1:], -1]:
        if cpu != previous + 1:
            parts.append(str(start) if start == previous else f"{start}-{previous}")
            start = cpu
        previous = cpu
    return ",".join(parts)


def cpu_mask(cpus: list[int], width: int = CPUS) -> str:
    """The hexadecimal mask of sysfs, in groups of 32 bits."""
    number = sum(1 << cpu for cpu in cpus)
    groups = [f"{(number >> shift) & 0xFFFFFFFF:08x}" for shift in range(0, width, 32)]
    return ",".join(reversed(groups))
