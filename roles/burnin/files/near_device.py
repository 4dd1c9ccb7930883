"""Binds what measures a device to the CPUs and the memory of the device's NUMA node. Standard library, Python 3.8+.

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
MPOL_BIND = 2  # include/uapi/linux/mempolicy.h
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
    why = bind_memory(node)
    where = f"pinned to NUMA node {node} of {device}, CPUs {text}"
    return (f"{where}; memory is not: {why}", True) if why else (where, False)


def cpus_of(text: str) -> set[int]:
    """The CPUs of a list such as `0-47,96-143`."""
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def bind_memory(node: int) -> str:
    """Take memory of one NUMA node only; why not, if the kernel refuses."""
    number = SET_MEMPOLICY.get(platform.machine())
    if number is None:
        return f"system calls of {platform.machine()} are not known"
    words = node // WORD_BITS + 1
    mask = (ctypes.c_ulong * words)()
    mask[node // WORD_BITS] = 1 << (node % WORD_BITS)
    libc = ctypes.CDLL(None, use_errno=True)
    # The kernel reads one bit less than maxnode says (get_nodes in mm/mempolicy.c).
    done = libc.syscall(ctypes.c_long(number), ctypes.c_int(MPOL_BIND), mask, ctypes.c_ulong(words * WORD_BITS + 1))
    return "" if done == 0 else os.strerror(ctypes.get_errno())
