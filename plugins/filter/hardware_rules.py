"""Contradictions in the declared parts of a node, as pure functions.

The role checks them before it reads a node, `clusterctl profile check` without access to a node.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Problem = tuple[str, str]

_ADDRESS = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]")
_COUNTS = (
    "hardware_cpu_sockets",
    "hardware_cpu_cores_per_socket",
    "hardware_cpu_threads_per_core",
    "hardware_numa_nodes",
    "hardware_memory_min_gib",
    "hardware_gpus",
    "hardware_gpu_memory_min_mib",
    "hardware_gpu_pcie_gen",
    "hardware_gpu_pcie_width",
    "hardware_hca_pcie_gen",
    "hardware_hca_pcie_width",
    "hardware_nvme_pcie_gen",
    "hardware_nvme_pcie_width",
    "hardware_log_hours",
    "hardware_link_flaps_max",
    "hardware_nvlink_flaps_max",
    "hardware_aer_corrected_max",
    "hardware_dimm_corrected_per_day_max",
    "hardware_mce_corrected_max",
    "hardware_nvme_data_disks",
)


def contradictions(variables: Mapping[str, Any]) -> list[Problem]:
    """Every contradiction as (variable, text). `variables`: those of hardware."""
    return [problem for part in (_counts, _ports, _addresses, _gpus) for problem in part(variables)]


def _counts(v: Mapping[str, Any]) -> Iterator[Problem]:
    for name in _COUNTS:
        if int(v[name]) < 0:
            yield name, f"{v[name]} is negative"


def _ports(v: Mapping[str, Any]) -> Iterator[Problem]:
    seen: set[tuple[str, int]] = set()
    for i, hca in enumerate(v["hardware_hcas"]):
        port = (hca["name"], int(hca.get("port") or 1))
        if port in seen:
            yield f"hardware_hcas[{i}]", f"{port[0]} port {port[1]} is declared twice"
        seen.add(port)


def _addresses(v: Mapping[str, Any]) -> Iterator[Problem]:
    owners: dict[str, str] = {}
    for i, hca in enumerate(v["hardware_hcas"]):
        address, where = hca.get("pci") or "", f"hardware_hcas[{i}].pci"
        if address and not _ADDRESS.fullmatch(address):
            yield where, f"{address!r} is not an address such as 0000:18:00.0"
        elif address and owners.setdefault(address, hca["name"]) != hca["name"]:  # the ports of a device are at one address
            yield where, f"{address} is already the address of {owners[address]}"


def _gpus(v: Mapping[str, Any]) -> Iterator[Problem]:
    count = int(v["hardware_gpus"])
    for i, hca in enumerate(v["hardware_hcas"]):
        gpu = hca.get("gpu")
        if gpu is not None and int(gpu) not in range(count):
            yield f"hardware_hcas[{i}].gpu", f"{gpu} is out of range; hardware_gpus is {count}"


def problem_lines(variables: Mapping[str, Any]) -> list[str]:
    """The contradictions as lines, for the role.

    Args:
        variables: the role's variables by name.
    """
    return [f"{where}: {what}" for where, what in contradictions(variables)]


class FilterModule:
    """The filters of this role."""

    def filters(self) -> dict[str, Any]:
        """Filter name -> function."""
        return {"hardware_problems": problem_lines}
