"""Memory, NUMA nodes and processors of Grace, as the kernel and lscpu show them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl_validators import test_hardware as module
from clusterctl_validators.finding import Outcome
from support.checks import InventedNode, run_some_checks, write_files
from support.gpu_node import declared

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl_validators.finding import Finding

NODE = "/sys/devices/system/node/node{}/{}"
HALF_KIB = 501621760
OF_GPU_KIB = 192937984
IOMEM = "80000000-ffffffff : System RAM\n100000000000-102dffffffff : System RAM (NVIDIA)\n"


def tray(root: Path, *, processors_kib: int, iomem: str = IOMEM) -> Path:
    """The numbers of `numactl -H` on a GB200 tray: two NUMA nodes with processors, four with the memory of a GPU, 28 with neither."""
    files: dict[str, str] = {
        "/proc/iomem": iomem,
        "/proc/meminfo": f"MemTotal:       {processors_kib + 4 * OF_GPU_KIB} kB\nMemFree: 1 kB\n",
    }
    for i in range(34):
        kib = processors_kib // 2 if i < 2 else OF_GPU_KIB if i in (2, 10, 18, 26) else 0
        files[NODE.format(i, "cpulist")] = f"{i * 72}-{i * 72 + 71}\n" if i < 2 else "\n"
        files[NODE.format(i, "meminfo")] = f"Node {i} MemTotal:       {kib} kB\nNode {i} MemFree: 1 kB\n"
    return write_files(root, files)


def found_in(root: Path, lscpu: str = "", **variables: Any) -> dict[str, Finding]:
    spec = declared("hardware", **{"hardware_memory_min_gib": 890, "hardware_numa_nodes": 2, **variables})
    return run_some_checks(module, spec, InventedNode(root, {"lscpu -J": lscpu}), ("test_processors", "test_numa_nodes", "test_memory"))


@pytest.mark.parametrize(
    ("processors_kib", "iomem", "outcome", "found"),
    [
        (2 * HALF_KIB, IOMEM, Outcome.PASS, "957 GiB"),
        (HALF_KIB, IOMEM, Outcome.FAIL, "478 GiB"),
        # Memory without processors that is not the driver's may be CXL, which counts.
        (HALF_KIB, "80000000-ffffffff : System RAM\n", Outcome.PASS, "1214 GiB"),
    ],
    ids=["whole", "half of it is gone", "of nobody"],
)
def test_memory_of_gpus_is_not_that_of_the_node(processors_kib: int, iomem: str, outcome: Outcome, found: str, tmp_path: Path) -> None:
    memory = found_in(tray(tmp_path, processors_kib=processors_kib, iomem=iomem))["hardware.memory"]
    assert (memory.outcome, memory.found) == (outcome, found)


def test_numa_nodes_of_gpus_have_no_processors(tmp_path: Path) -> None:
    numa = found_in(tray(tmp_path, processors_kib=2 * HALF_KIB))["hardware.numa_nodes"]
    assert (numa.outcome, numa.found) == (Outcome.PASS, "2")


def test_processors_that_the_firmware_does_not_describe(tmp_path: Path) -> None:
    """As lscpu of util-linux shows them on a GH200 virtual machine (hu-po/warp-ik, docs/specs/arm-gh200.md)."""
    rows = {"Architecture:": "aarch64", "Thread(s) per core:": "1", "Core(s) per cluster:": "64", "Socket(s):": "-", "Cluster(s):": "1"}
    text = json.dumps({"lscpu": [{"field": field, "data": data} for field, data in rows.items()]})
    found = found_in(tray(tmp_path, processors_kib=2 * HALF_KIB), text, hardware_architecture="aarch64", hardware_cpu_threads_per_core=1)
    assert {k: f.outcome for k, f in found.items() if k.startswith("hardware.cpu.")} == {
        "hardware.cpu.architecture": Outcome.PASS,
        "hardware.cpu.sockets": Outcome.COULD_NOT_RUN,
        "hardware.cpu.cores_per_socket": Outcome.COULD_NOT_RUN,
        "hardware.cpu.threads_per_core": Outcome.PASS,
    }
