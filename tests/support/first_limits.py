"""Records of nodes that read a given value, for every gate that a first limit can be learned for."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from clusterctl.model.trace_sample import TraceSample
from clusterctl_tools import ubergemm
from support.gates import links_of_gpus, meeting, nccl, record
from support.latency import latency_meeting
from support.nvme import node_output, nvme_record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from clusterctl.model.gate_result import RawRecord

_GPUS = 8


def _gpu_stress(name: str, value: float) -> list[RawRecord]:
    text = "starting....\n" + 2 * f"GFlops:{1000 * value:.5e} GFlops\n"
    rows = "\n".join(f"{gpu}, 00000000:{gpu + 16:02X}:00.0, 1485, 693.50, 700.00, 66, 20, 84, 0x4" for gpu in range(_GPUS)) + "\n"
    loads = [
        record("gpu_stress", name, f"GFlops:1 GFlops\n{text}", step=f"gpu{i}", device=f"gpu{i}", tool="ubergemm") for i in range(_GPUS)
    ]
    loads = [replace(r, argv=tuple(ubergemm.load_argv(i, 90)), duration_s=97.0) for i, r in enumerate(loads)]
    trace = tuple(TraceSample(5.0 * i, 0.2, 0, rows) for i in range(20))
    return [*loads, record("gpu_stress", name, "", step="trace", tool="ubergemm", argv=("sleep", "120"), duration_s=100.0, trace=trace)]


def _cpu_stream(name: str, value: float) -> list[RawRecord]:
    rows = "".join(f"{kernel}: {value:.1f} 0.1 0.1 0.1\n" for kernel in ("Copy", "Scale", "Add", "Triad"))
    return [record("cpu_stream", name, f"Function    Best Rate MB/s  Avg time\n{rows}Solution Validates\n", tool="stream")]


def _nvbandwidth(name: str, value: float) -> list[RawRecord]:
    how = {"status": "Passed", "bandwidth_description": "memcpy CE bandwidth (GB/s)", "bandwidth_matrix": [[str(value)] * _GPUS]}
    cases = [{"name": f"{way}_memcpy_ce", **how} for way in ("host_to_device", "device_to_host")]
    text = json.dumps({"nvbandwidth": {"version": "v0.8", "testcases": cases}})
    return [record("nvbandwidth", name, text, links=links_of_gpus(_GPUS))]


def _of_nodes(one: Callable[[str, float], list[RawRecord]]) -> Callable[[Mapping[str, float], int], list[RawRecord]]:
    return lambda values, _each: [r for name, value in values.items() for r in one(name, value)]


def _of_pairs(values: Mapping[str, float]) -> Sequence[tuple[int, str, str, float]]:
    """Every node with two others, and what the two of them read: the average, or the value of both."""
    names = list(values)
    both = [(i, one, names[(i + 1) % len(names)]) for i, one in enumerate(names)]
    return [(i, one, other, (values[one] + values[other]) / 2) for i, one, other in both]


# Gate -> the records of nodes that read these values, on so many disks each.
MEASURED: dict[str, Callable[[Mapping[str, float], int], list[RawRecord]]] = {
    "gpu_stress": _of_nodes(_gpu_stress),
    "cpu_stream": _of_nodes(_cpu_stream),
    "nvbandwidth": _of_nodes(_nvbandwidth),
    "nccl_node": _of_nodes(lambda name, value: [record("nccl_node", name, nccl(value))]),
    "nvme_fio": lambda values, each: [nvme_record(name, node_output(each, gbps=value)) for name, value in values.items()],
    "rdma_pair": lambda values, _each: [r for i, one, other, value in _of_pairs(values) for r in meeting(one, other, 0, i, value)],
    "rdma_latency": lambda values, _each: [
        r for i, one, other, value in _of_pairs(values) for r in latency_meeting(one, other, f"round{i}", value)
    ],
}
