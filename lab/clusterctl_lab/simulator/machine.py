"""The hardware that this lab node stands for, one HCA per GPU and rail; HGX H100 where nothing is said."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from . import hardware_kinds, state

# The name of a kind of hardware: as the lab says it to the first process, and, for programs whose units hide that, as the boot noted it.
KIND = "/var/lib/clusterctl-lab/hardware"
THIS = hardware_kinds.KINDS[state.flag("hardware") or state.read(KIND) or hardware_kinds.HGX_H100.name]
NUMA_NODES = THIS.numa_nodes
CPUS = THIS.sockets * THIS.cores_per_socket * THIS.threads_per_core
GPUS = len(THIS.gpu_addresses)
HCAS = len(THIS.hca_addresses)


@dataclass(frozen=True)
class Gpu:
    """One GPU of a node; identities follow from the node's name, so they survive reboots."""

    index: int
    uuid: str
    serial: str
    bus_id: str
    numa_node: int


def cpus_of_numa_node(node: int) -> list[int]:
    """Logical CPUs of a NUMA node: its cores, then their second threads."""
    return _cpus(node, THIS.sockets * THIS.cores_per_socket // THIS.numa_nodes)


def cpus_of_socket(socket: int) -> list[int]:
    """Logical CPUs of a socket: its cores, then their second threads."""
    return _cpus(socket, THIS.cores_per_socket)


def _cpus(part: int, cores: int) -> list[int]:
    first = range(part * cores, (part + 1) * cores)
    return [thread * THIS.sockets * THIS.cores_per_socket + core for thread in range(THIS.threads_per_core) for core in first]


def siblings_of_core(core: int) -> list[int]:
    """The logical CPUs of a core, which are numbered over all sockets."""
    return [thread * THIS.sockets * THIS.cores_per_socket + core for thread in range(THIS.threads_per_core)]


def numa_node_of_slot(index: int) -> int:
    """Where a GPU hangs, and the HCA of its rail."""
    return THIS.numa_of_slot[index]


def gpu(node: str, index: int) -> Gpu:
    """The GPU `index` of a node."""
    h = hashlib.sha256(f"{node}/gpu{index}".encode()).hexdigest()
    uuid = f"GPU-{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:32]}"
    serial = str(1650000000000 + int(h[32:40], 16) % 10_000_000)
    return Gpu(index, uuid, serial, f"0000{THIS.gpu_addresses[index].upper()}", numa_node_of_slot(index))


def hca_name(index: int) -> str:
    """What the kernel calls the HCA of a rail."""
    return THIS.hca_names[index]


def hca_index(name: str) -> int:
    """The rail of an HCA. ValueError for a device that is no HCA of a rail."""
    return THIS.hca_names.index(name)


def is_switch_hca(name: str) -> bool:
    """Whether an RDMA device is the management function of an NVSwitch, which is no rail."""
    return name in (device for device, _ in THIS.switch_hcas)


def hca_guid(node: str, index: int) -> str:
    """Node GUID of an HCA, as sysfs writes it."""
    h = hashlib.sha256(f"{node}/{THIS.hca_names[index]}".encode()).hexdigest()
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
