"""/sys files of memory: NUMA nodes, huge pages, transparent huge pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import machine
from .cmdline import last_value

if TYPE_CHECKING:
    from .hugepages import HugePages

THP_CHOICES = {
    "enabled": ("always", "madvise", "never"),
    "defrag": ("always", "defer", "defer+madvise", "madvise", "never"),
    "shmem_enabled": ("always", "within_size", "advise", "never", "deny", "force"),
}
_THP_DEFAULT = {"enabled": "always", "defrag": "madvise", "shmem_enabled": "never"}
THP = "kernel/mm/transparent_hugepage"


def files(cmdline: str, pages: HugePages) -> dict[str, str | int | bytes]:
    """All files, relative to /sys."""
    all_nodes = machine.cpu_list(list(range(machine.NUMA_NODES)))
    base = "devices/system/node"
    result: dict[str, str | int | bytes] = {
        f"{base}/{name}": all_nodes for name in ("online", "possible", "has_cpu", "has_memory", "has_normal_memory")
    }
    for node in range(machine.NUMA_NODES):
        cpus = machine.cpus_of_numa_node(node)
        distances = " ".join("10" if other == node else "21" for other in range(machine.NUMA_NODES))
        result |= {
            f"{base}/node{node}/cpulist": machine.cpu_list(cpus),
            f"{base}/node{node}/cpumap": machine.cpu_mask(cpus),
            f"{base}/node{node}/distance": distances,
        }
    for name, default in _THP_DEFAULT.items():
        chosen = (last_value(cmdline, "transparent_hugepage") or default) if name == "enabled" else default
        result[f"{THP}/{name}"] = bracket(chosen, THP_CHOICES[name])
    result |= {f"{THP}/use_zero_page": 1, f"{THP}/khugepaged/defrag": 1, f"{THP}/khugepaged/scan_sleep_millisecs": 10000}
    result |= {f"{THP}/hpage_pmd_size": 2097152, "kernel/mm/ksm/run": 0}
    return result | _modules() | page_files(pages)


def _modules() -> dict[str, str | int | bytes]:
    """EDAC: a memory controller per NUMA node, with its DIMMs and their errors."""
    result: dict[str, str | int | bytes] = {}
    dimms = machine.DIMMS // machine.NUMA_NODES
    for controller in range(machine.NUMA_NODES):
        at = f"devices/system/edac/mc/mc{controller}"
        result |= dict.fromkeys((f"{at}/ce_count", f"{at}/ue_count", f"{at}/ce_noinfo_count", f"{at}/ue_noinfo_count"), 0)
        for dimm in range(dimms):
            label = f"CPU_SrcID#{controller}_MC#0_Chan#{dimm}_DIMM#0"
            result |= {f"{at}/dimm{dimm}/dimm_ce_count": 0, f"{at}/dimm{dimm}/dimm_ue_count": 0, f"{at}/dimm{dimm}/dimm_label": label}
            result[f"{at}/dimm{dimm}/size"] = machine.DIMM_GIB * 1024
    return result


def page_files(pages: HugePages) -> dict[str, str | int | bytes]:
    """The files whose values depend on the number of huge pages."""
    result: dict[str, str | int | bytes] = {}
    for size in pages.sizes_kib:
        total = pages.total(size)
        result |= _counters(f"kernel/mm/hugepages/hugepages-{size}kB", total)
        for extra in ("nr_hugepages_mempolicy", "nr_overcommit_hugepages", "resv_hugepages"):
            result[f"kernel/mm/hugepages/hugepages-{size}kB/{extra}"] = total if extra == "nr_hugepages_mempolicy" else 0
        for node in range(pages.nodes):
            result |= _counters(f"devices/system/node/node{node}/hugepages/hugepages-{size}kB", pages.pages[node, size])
    for node in range(pages.nodes):
        result[f"devices/system/node/node{node}/meminfo"] = _node_meminfo(node, pages)
    return result


def bracket(chosen: str, choices: tuple[str, ...]) -> str:
    """The kernel's notation of a choice, e.g. `always [madvise] never`."""
    return " ".join(f"[{c}]" if c == chosen else c for c in choices)


def meminfo(pages: HugePages) -> str:
    """The text of /proc/meminfo."""
    huge = sum(n * size for (_, size), n in pages.pages.items())
    default = pages.total(pages.default_kib)
    free = machine.THIS.memory_kib - huge - 12 * 1048576
    values = {
        "MemTotal": machine.THIS.memory_kib,
        "MemFree": free,
        "MemAvailable": free,
        "Buffers": 52428,
        "Cached": 4194304,
        "SwapCached": 0,
        "Active": 2097152,
        "Inactive": 2097152,
        "SwapTotal": 0,
        "SwapFree": 0,
        "Dirty": 128,
        "Slab": 1048576,
        "CommitLimit": machine.THIS.memory_kib // 2,
        "Committed_AS": 4194304,
        "AnonHugePages": 0,
    }
    lines = [f"{name + ':':<15} {value:>9} kB" for name, value in values.items()]
    counts = {"HugePages_Total": default, "HugePages_Free": default, "HugePages_Rsvd": 0, "HugePages_Surp": 0}
    lines += [f"{name + ':':<16} {value:>7}" for name, value in counts.items()]
    return "\n".join([*lines, f"Hugepagesize:   {pages.default_kib:>9} kB", f"Hugetlb:        {huge:>9} kB"])


def _counters(path: str, count: int) -> dict[str, str | int | bytes]:
    return {f"{path}/nr_hugepages": count, f"{path}/free_hugepages": count, f"{path}/surplus_hugepages": 0}


def _node_meminfo(node: int, pages: HugePages) -> str:
    total = machine.THIS.memory_kib // pages.nodes
    huge = sum(n * size for (at, size), n in pages.pages.items() if at == node)
    count = pages.pages[node, pages.default_kib]
    rows = {"MemTotal": f"{total:>13} kB", "MemFree": f"{total - huge - 6 * 1048576:>14} kB"}
    rows |= {"HugePages_Total": f"{count:>5}", "HugePages_Free": f"{count:>6}", "HugePages_Surp": f"{0:>6}"}
    return "\n".join(f"Node {node} {name}: {value}" for name, value in rows.items())
