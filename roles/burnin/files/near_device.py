"""Binds what measures a device to the CPUs of the device's NUMA node and to the memory of its socket. Standard library, Python 3.8+.

Where a socket has several NUMA nodes (NPS2, NPS4, sub-NUMA clusters), memory is interleaved over all of them: several adapters may be near one node that
has a part of the socket's channels only.

The node is the kernel's own word (sysfs, `numa_node`), so no program (numactl, taskset) is needed. Threads and programs that the calling
thread starts inherit both: sched_setaffinity(2), set_mempolicy(2).
"""

from __future__ import annotations

import ctypes
import os
import platform
from pathlib import Path

SYS = Path("/sys")
# System call numbers: arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h of Linux.
SET_MEMPOLICY = {"x86_64": 238, "aarch64": 237}
# Assumed by arithmetic, no measurement is public: two HDR adapters take 50 GB/s, a node of NPS4 has 51.2 GB/s at most (two channels of DDR4-3200).
MPOL_BIND, MPOL_INTERLEAVE = 2, 3  # include/uapi/linux/mempolicy.h
WORD_BITS = 8 * ctypes.sizeof(ctypes.c_ulong)


def bind_to_node_of(device: str, sys_root: Path = SYS) -> tuple[str, bool]:
    """What was done for an RDMA device, for people, and whether anything is left unbound."""
    try:
        node = int((sys_root / "class/infiniband" / device / "device/numa_node").read_text(encoding="ascii"))
    except (OSError, ValueError) as e:
        return f"not pinned: the NUMA node of {device} cannot be read: {e}", True
    if node < 0:
        return f"not pinned: the kernel knows no NUMA node of {device} ({node})", True
    try:
        text = (sys_root / f"devices/system/node/node{node}/cpulist").read_text(encoding="ascii").strip()
        os.sched_setaffinity(0, cpus_of(text))
    except (OSError, ValueError) as e:
        return f"not pinned to NUMA node {node} of {device}: {e}", True
    nodes = nodes_of_socket(node, sys_root)
    why = bind_memory(nodes)
    where = f"pinned to NUMA node {node} of {device}, CPUs {text}"
    if why:
        return f"{where}; memory is not: {why}", True
    names = ", ".join(str(n) for n in nodes)
    return (f"{where}; memory interleaved over the NUMA nodes {names} of its socket" if len(nodes) > 1 else where), False


def nodes_of_socket(node: int, sys_root: Path) -> list[int]:
    """The NUMA nodes with CPUs on the socket of a node; the node alone where the kernel names no socket."""
    own = socket_of(node, sys_root)
    if own is None:
        return [node]
    names = (folder.name[len("node") :] for folder in (sys_root / "devices/system/node").glob("node*"))
    return sorted(n for n in (int(name) for name in names if name.isdigit()) if socket_of(n, sys_root) == own)


def socket_of(node: int, sys_root: Path) -> int | None:
    """The socket of a NUMA node's CPUs; None if it has none, as memory of GPUs, or the kernel does not show it."""
    try:
        first = min(cpus_of((sys_root / f"devices/system/node/node{node}/cpulist").read_text(encoding="ascii").strip()))
        number = int((sys_root / f"devices/system/cpu/cpu{first}/topology/physical_package_id").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
    return number if number >= 0 else None


def cpus_of(text: str) -> set[int]:
    """The CPUs of a list such as `0-47,96-143`."""
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def bind_memory(nodes: list[int], *, interleaved: bool = True) -> str:
    """Take memory of these NUMA nodes only, of several in turn, or from the nearest one first; why not, if the kernel refuses."""
    number = SET_MEMPOLICY.get(platform.machine())
    if number is None:
        return f"system calls of {platform.machine()} are not known"
    words = max(nodes) // WORD_BITS + 1
    mask = (ctypes.c_ulong * words)()
    for node in nodes:
        mask[node // WORD_BITS] |= 1 << (node % WORD_BITS)
    mode = MPOL_INTERLEAVE if interleaved and len(nodes) > 1 else MPOL_BIND
    libc = ctypes.CDLL(None, use_errno=True)
    # The kernel reads one bit less than maxnode says (get_nodes in mm/mempolicy.c).
    done = libc.syscall(ctypes.c_long(number), ctypes.c_int(mode), mask, ctypes.c_ulong(words * WORD_BITS + 1))
    return "" if done == 0 else os.strerror(ctypes.get_errno())
