"""Memory and NUMA nodes of the processors. On Grace the kernel has those of the GPUs, too, unless the driver manages them itself (CDMM).

GB200 without CDMM: 34 NUMA nodes, of which 2 have processors (vllm-project/vllm pull 39361, NVIDIA/mlperf-common pull 16, `numactl -H` of a tray).
"""

from typing import List

from clusterctl_tools.linux_files import gpu_memory_gib, parse_memory_gib
from clusterctl_validators.probe import Probe
from clusterctl_validators.record import UNDECLARED, Record

_NODES = "/sys/devices/system/node/node[0-9]*"


def judge_numa_nodes(declared: int, probe: Probe, record: Record) -> None:
    """Record `hardware.numa_nodes`: the nodes that have processors."""
    check = "hardware.numa_nodes"
    if not declared:
        record.not_applicable(check, UNDECLARED)
        return
    found = len(probe.glob(_NODES)) - len(_without_processors(probe))
    record.equal(check, declared, found, hint="compare the BIOS setting NPS / SNC with the profile")


def judge_memory(floor_gib: int, probe: Probe, record: Record) -> None:
    """Record `hardware.memory`."""
    check = "hardware.memory"
    if not floor_gib:
        record.not_applicable(check, UNDECLARED)
        return
    # The GPUs' first: after a boot the driver may still be adding it.
    of_gpus = gpu_memory_gib(probe.read("/proc/iomem") or "", [probe.read(node + "/meminfo") or "" for node in _without_processors(probe)])
    found = parse_memory_gib(probe.read("/proc/meminfo") or "") - of_gpus
    hint = "find the missing DIMM in the inventory and event log of the BMC; reseat or replace it"
    record.ok(check, found >= floor_gib, expected=">= {} GiB".format(floor_gib), found="{:.0f} GiB".format(found), hint=hint)


def _without_processors(probe: Probe) -> List[str]:
    return [node for node in probe.glob(_NODES) if probe.read(node + "/cpulist") == ""]
