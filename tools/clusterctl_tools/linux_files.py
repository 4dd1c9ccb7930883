"""Files of a Linux machine: /proc/meminfo, /proc/iomem, those of NUMA nodes, /etc/os-release."""

import re
from typing import Iterable


class UnreadableFileError(ValueError):
    """The file is not what the kernel or the distribution writes."""


# Under this name NVIDIA's driver gives the memory of a GPU to the kernel (open-gpu-kernel-modules@df1c9a3, kernel-open/nvidia/os-interface.c).
GPU_MEMORY = "System RAM (NVIDIA)"
_MEMORY = re.compile(r"\bMemTotal:\s+(\d+) kB")


def parse_memory_gib(meminfo: str) -> float:
    """MemTotal of /proc/meminfo. Raises UnreadableFileError if it is absent."""
    found = re.search(r"^MemTotal:\s+(\d+) kB", meminfo, re.MULTILINE)
    if not found:
        raise UnreadableFileError("/proc/meminfo has no MemTotal")
    return int(found.group(1)) / 1024**2


def gpu_memory_gib(iomem: str, without_processors: Iterable[str]) -> float:
    """How much of MemTotal is memory of GPUs; 0 where the driver gave none to the kernel, so that other memory without processors (CXL) counts.

    On Grace, MemTotal has both: of a GB200 tray 957 GiB of the processors and 736 GiB of the GPUs, unless the driver manages these itself (CDMM).

    Args:
        iomem: /proc/iomem.
        without_processors: the meminfo of each NUMA node that has no processors. What is still being added counts in neither.
    """
    if GPU_MEMORY not in iomem:
        return 0.0
    return sum(int(kib) for text in without_processors for kib in _MEMORY.findall(text)) / 1024**2


def parse_os_release(text: str) -> str:
    """ID and VERSION_ID of /etc/os-release, such as `ubuntu 24.04`; empty where it has neither. Format: os-release(5)."""
    values = dict(line.strip().split("=", 1) for line in text.splitlines() if "=" in line)
    return " ".join(values.get(name, "").strip("\"'") for name in ("ID", "VERSION_ID")).strip()
