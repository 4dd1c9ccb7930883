"""The hardware that this lab node simulates, with one HCA per GPU and rail; HGX H100 by default."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from . import hardware_kinds, rdma_names, state
from .hardware import with_management

# The file in which the lab names the hardware. The boot copies the name to a flag for programs whose units hide this file.
KIND = "/var/lib/clusterctl-lab/hardware"
# What an installer left on this node; the adapter that carries its own network is one more than the kind has.
INSTALLED = "/var/lib/clusterctl-lab/fresh-installer.json"
_BUILT = with_management(
    hardware_kinds.KINDS[state.flag("hardware") or state.read(KIND) or hardware_kinds.HGX_H100.name],
    json.loads(state.flag("management") or state.read(INSTALLED) or "{}").get("management"),
)
THIS = rdma_names.current(_BUILT)
NUMA_NODES = THIS.numa_nodes
CPUS = THIS.sockets * THIS.cores_per_socket * THIS.threads_per_core
GPUS = len(THIS.gpu_addresses)
HCAS = len(THIS.hca_addresses)
DIMM_GIB = 64
# The kernel shows less than is installed: firmware and kernel keep a part.
DIMMS = -(-THIS.memory_kib // (DIMM_GIB * 1024**2 * NUMA_NODES)) * NUMA_NODES


@dataclass(frozen=True)
class Gpu:
    """One GPU of a node. UUID and serial number are derived from the node's name, so that they survive reboots."""

    index: int
    uuid: str
    serial: str
    bus_id: str
    numa_node: int


def cpus_of_numa_node(node: int) -> list[int]:
    """The logical CPUs of a NUMA node: first the first threads of its cores, then the second threads."""
    return _cpus(node, THIS.sockets * THIS.cores_per_socket // THIS.numa_nodes)


def cpus_of_socket(socket: int) -> list[int]:
    """The logical CPUs of a socket: first the first threads of its cores, then the second threads."""
    return _cpus(socket, THIS.cores_per_socket)


def _cpus(part: int, cores: int) -> list[int]:
    first = range(part * cores, (part + 1) * cores)
    return [thread * THIS.sockets * THIS.cores_per_socket + core for thread in range(THIS.threads_per_core) for core in first]


def siblings_of_core(core: int) -> list[int]:
    """The logical CPUs of a core; cores are numbered over all sockets."""
    return [thread * THIS.sockets * THIS.cores_per_socket + core for thread in range(THIS.threads_per_core)]


def numa_node_of_slot(index: int) -> int:
    """The NUMA node of a GPU and of the HCA of its rail."""
    return THIS.numa_of_slot[index]


def gpu(node: str, index: int) -> Gpu:
    """The GPU `index` of a node."""
    h = hashlib.sha256(f"{node}/gpu{index}".encode()).hexdigest()
    uuid = f"GPU-{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:32]}"
    serial = str(1650000000000 + int(h[32:40], 16) % 10_000_000)
    return Gpu(index, uuid, serial, f"0000{THIS.gpu_addresses[index].upper()}", numa_node_of_slot(index))


def hca_name(index: int) -> str:
    """The kernel's name of the HCA of a rail."""
    return THIS.hca_names[index]


def live_hcas() -> list[int]:
    """The rails whose HCA is on the bus."""
    dead = state.flag("hca-dead").split()
    return [index for index, address in enumerate(THIS.hca_addresses) if address not in dead]


def name_devices() -> None:
    """Give the RDMA devices the names of a boot; only the boot calls this, before it creates their files."""
    global THIS  # noqa: PLW0603 the names of this process are those of the boot
    rdma_names.on_boot(_BUILT)
    THIS = rdma_names.current(_BUILT)


def hca_index(name: str) -> int:
    """The rail of an HCA.

    Raises:
        ValueError: the device is not the HCA of a rail.
    """
    return THIS.hca_names.index(name)


def is_rail(name: str) -> bool:
    """Whether an RDMA device is the HCA of a rail, and not the management function of an NVSwitch or a port for management or storage."""
    return name in THIS.hca_names


def hca_guid(node: str, index: int) -> str:
    """The node GUID of an HCA in the notation of sysfs."""
    now = THIS.hca_names[index]
    built = next((name for name, current in state.hca_names().items() if current == now), now)
    h = hashlib.sha256(f"{node}/{built}".encode()).hexdigest()
    return f"a088:c203:00{h[:2]}:{h[2:6]}"


def hca_lid(node: str, index: int) -> int:
    """The local id of an HCA's port; constant, as with a subnet manager that has a guid2lid file."""
    return 16 + int(hashlib.sha256(f"{node}/lid{index}".encode()).hexdigest()[:4], 16) % 40000


def cpu_list(cpus: list[int]) -> str:
    """The notation of the kernel for a sorted list of CPUs, e.g. `0-55,112-167`."""
    parts: list[str] = []
    start = previous = cpus[0]
    for cpu in [*cpus[1:], -1]:
        if cpu != previous + 1:
            parts.append(str(start) if start == previous else f"{start}-{previous}")
            start = cpu
        previous = cpu
    return ",".join(parts)


def cpu_mask(cpus: list[int], width: int = CPUS) -> str:
    """The hexadecimal mask of sysfs for a list of CPUs, in groups of 32 bits."""
    number = sum(1 << cpu for cpu in cpus)
    groups = [f"{(number >> shift) & 0xFFFFFFFF:08x}" for shift in range(0, width, 32)]
    return ",".join(reversed(groups))
