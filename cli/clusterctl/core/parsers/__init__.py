"""Tool output -> typed samples. Pure: text in, samples or UnparsableError out, whatever the text."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import TYPE_CHECKING

from clusterctl.core.parsers.unparsable import UnparsableError
from clusterctl.model.errors import UsageProblemError

if TYPE_CHECKING:
    from clusterctl.model.gate_result import Sample

__all__ = ["TOOLS", "UnparsableError", "parse"]

TOOLS: dict[str, str] = {
    "dcgmi_diag": "dcgmi diag, JSON (-j) of DCGM 3 and 4, or its table",
    "error_snapshot": "error_snapshot.py of the burn-in: the error counters of a node",
    "fio": "fio --output-format=json",
    "gpu_burn": "gpu_burn, also gpu-burn",
    "ibstat": "ibstat",
    "nccl_tests": "nccl-tests and rccl-tests (all_reduce_perf ...), with or without NCCL_DEBUG lines and MPI tags",
    "nvbandwidth": "nvbandwidth, JSON (-j) or text",
    "nvidia_smi_query": "nvidia-smi --query-gpu=... --format=csv",
    "nvme_read": "nvme_read.py of the burn-in: fio on every NVMe data disk of a node",
    "perfquery": "perfquery",
    "perftest": "ib_write_bw, ib_send_bw, ib_read_bw and their latency tests",
    "storage_throughput": "storage_throughput.py of the burn-in: one node of a group on a shared file system",
    "stream": "STREAM",
    "stressapptest": "stressapptest, also as host_memory.py of the burn-in prints it",
    "torch_gemm": "torch_gemm.py of the burn-in: products of PyTorch on one GPU",
    "training_proxy": "training_proxy.py of the burn-in: the ranks of one node of a group that trains with PyTorch",
    "ubergemm": "ubergemm of DCGM",
    "vendor_diag": "messages of OCP Test & Validation 2.0, or PASS, FAIL or RETEST of NVIDIA's Field Diagnostic",
}
ALIASES = {
    "dcgmi": "dcgmi_diag",
    "rccl_tests": "nccl_tests",
    "ib_write_bw": "perftest",
    "ib_send_bw": "perftest",
    "ib_read_bw": "perftest",
    "ib_write_lat": "perftest",
    "ib_send_lat": "perftest",
    "ib_read_lat": "perftest",
    "all_reduce_perf": "nccl_tests",
}


def known_tool(name: str) -> str:
    """The parser's name of a tool; `-` and `_` are the same.

    Raises:
        UsageProblemError: no parser has that name; it lists them.
    """
    plain = name.replace("-", "_").lower()
    tool = ALIASES.get(plain, plain)
    if tool not in TOOLS:
        raise UsageProblemError(detail=f"unknown tool {name!r}", hint=f"known tools: {', '.join(TOOLS)}")
    return tool


def parse_output(tool: str, text: str, *, node: str = "") -> tuple[Sample, ...]:
    """The samples in a tool's output; `node` is written into each.

    Raises:
        UsageProblemError: the tool is unknown.
        UnparsableError: the text is empty, cut off, or something else.
    """
    name = known_tool(tool)
    if not text.strip():
        raise UnparsableError(tool=name, reason="it is empty")
    module = importlib.import_module(f"clusterctl.core.parsers.{name}")
    samples: tuple[Sample, ...] = module.parse(text.replace("\ufeff", ""))
    return tuple(replace(s, node=node) for s in samples) if node else samples
