"""all_reduce_perf, all_gather_perf, reduce_scatter_perf, alltoall_perf and sendrecv_perf; `run_group` also serves mpirun."""

from __future__ import annotations

import os
import re
import signal
import sys
from typing import TYPE_CHECKING

from . import load, machine, nccl_debug_log, peers
from .device_variation import variation_factor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .peers import Peer

# Bus bandwidth = algorithm bandwidth * factor * (n - 1) / n (nccl-tests PERFORMANCE.md); sendrecv, which is not among them, has the same for both
# (src/sendrecv.cu).
_BUS_FACTORS = {"all_reduce": 2, "all_gather": 1, "reduce_scatter": 1, "alltoall": 1}
_SEND_RECV = "sendrecv"
# Bus bandwidth relative to all-reduce, which the switches accelerate. Assumed for sendrecv: as on eight A100, 195 (li-plus/playground) of 235 GB/s.
_RELATIVE_TO_ALL_REDUCE = {"all_reduce": 1.0, "all_gather": 0.752, "reduce_scatter": 0.755, "alltoall": 0.74, _SEND_RECV: 0.83}
COLLECTIVES = frozenset(_RELATIVE_TO_ALL_REDUCE)
_SUFFIX = {"K": 2**10, "M": 2**20, "G": 2**30}
_HALF_SPEED_BYTES = 32 * 2**20


def main(argv: list[str], version: str) -> int:
    """Run on this node only."""
    name = argv[0].rpartition("/")[2].removesuffix("_perf")
    if {"-h", "--help"} & set(argv):
        print(
            f"USAGE: {name}_perf \n\t[-t,--nthreads <num threads>] \n\t[-g,--ngpus <gpus per thread>] \n\t[-b,--minbytes <min size in bytes>] "
        )
        print(
            f"\t[-e,--maxbytes <max size in bytes>] \n\t[-n,--iters <iteration count>] \n\t[-c,--check <check iteration count>] \n# nccl-tests {version} (simulated)"
        )
        return 0
    me = peers.describe_self()
    ranks = int(_option(argv, "-g", "--ngpus", "1")) * int(_option(argv, "-t", "--nthreads", "1"))
    return run_group(name, argv[1:], version, [(me, min(ranks, machine.GPUS * 4))], dict(os.environ))


def run_group(
    name: str,
    words: list[str],
    version: str,
    group: list[tuple[Peer, int]],
    environment: dict[str, str],
    *,
    write: Callable[[dict[str, dict[str, str]]], None] | None = None,
) -> int:
    """Print the output of rank 0. `group` lists each node with its number of ranks; `write` puts node -> file -> text there.

    A group with a node that hangs stops before its first row, until it is ended.
    """
    print("clusterctl-lab: simulated", file=sys.stderr)
    rack_nvlink = uses_rack_nvlink({**peers.nccl_settings(), **environment}, nodes=len(group))
    problem = _problem(group, rack_nvlink=rack_nvlink)
    if problem:
        print(problem)
        return 3
    load.begin()
    ranks = sum(count for _, count in group)
    low, high = _size(_option(words, "-b", "--minbytes", "32M")), _size(_option(words, "-e", "--maxbytes", "32M"))
    step = int(_option(words, "-f", "--stepfactor", "2"))
    nccl = group[0][0].nccl
    lines = [
        f"# nccl-tests version {version} nccl-headers={_code(nccl)} nccl-library={_code(nccl)}",
        f"# Collective test starting: {name}_perf",
        _setting(1 if len(group) > 1 else group[0][1], low, high, words),
        "#",
        "# Using devices",
        *_devices(group),
    ]
    if environment.get("NCCL_DEBUG", "").upper() in ("INFO", "TRACE"):
        pattern = environment.get("NCCL_DEBUG_FILE", "")
        if pattern and write:
            write(nccl_debug_log.files(pattern, group, rack_nvlink=rack_nvlink))
        else:
            lines += nccl_debug_log.info_lines(group, rack_nvlink=rack_nvlink)
    lines += [f"NCCL version {nccl}+cuda13.0", "#", *_HEADER]
    if len(group) > 1 and any(d.hangs for d, _ in group):
        print("\n".join(lines), flush=True)
        while True:
            signal.pause()
    in_a_ring = environment.get("NCCL_ALGO") == "Ring"
    best = bus_bandwidth(name, group, rack_nvlink=rack_nvlink, in_a_ring=in_a_ring)
    if len(group) > 1 and not rack_nvlink:
        best *= _share_of_adapters(environment.get("NCCL_IB_HCA", ""))
    table, average = _table(name, _sizes(low, high, step), best, ranks)
    lines += [
        *table,
        "# Out of bounds values : 0 OK",
        f"# Avg bus bandwidth    : {average:g} ",
        "#",
        f"# Collective test concluded: {name}_perf",
    ]
    print("\n".join(lines))
    return 0


def uses_rack_nvlink(variables: Mapping[str, str], *, nodes: int) -> bool:
    """Whether NCCL shares memory by the NVLink of a rack: between nodes unless it is 0, on one node only if it is 1 (src/init.cc; default 2)."""
    enabled = variables.get("NCCL_MNNVL_ENABLE", "2")
    return machine.THIS.rack_nvlink and (enabled == "1" or (nodes > 1 and enabled != "0"))


def _setting(gpus: int, low: int, high: int, words: list[str]) -> str:
    step, count = _option(words, "-f", "--stepfactor", "2"), _option(words, "-n", "--iters", "20")
    warmup, check = _option(words, "-w", "--warmup_iters", "1"), _option(words, "-c", "--check", "1")
    text = f"# nThread 1 nGpus {gpus} minBytes {low} maxBytes {high} step: {step}(factor) warmup iters: {warmup} "
    return text + f"iters: {count} agg iters: 1 validation: {check} graph: 0"


_HEADER = (
    "#                                                              out-of-place                       in-place          ",
    "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong ",
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)         ",
)


def bus_bandwidth(name: str, group: list[tuple[Peer, int]], *, rack_nvlink: bool, in_a_ring: bool = False) -> float:
    """The bus bandwidth at large messages in GB/s, limited by the slowest node and HCA of the group."""
    slowest = min(d.nccl_factor for d, _ in group)
    if len(group) == 1:
        ranks = group[0][1]
        return machine.THIS.node_busbw_gbs * (1.0 if ranks > machine.GPUS // 2 else 0.76) * slowest * _RELATIVE_TO_ALL_REDUCE[name]
    of_two = machine.THIS.pair_busbw_gbs if len(group) == 2 and not in_a_ring else 0
    if rack_nvlink:
        return (of_two or machine.THIS.group_busbw_gbs) * slowest * _RELATIVE_TO_ALL_REDUCE[name]
    rate = min(d.slowest_hca for d, _ in group)
    # One GPU of each node sends to another node, over its own adapter. Assumed: at the rate of that adapter.
    if name == _SEND_RECV:
        return rate * machine.THIS.line_rate_gbps / 8 * (1.0 if all(d.gdr for d, _ in group) else peers.WITHOUT_GDR) * slowest
    best = rate * (machine.THIS.network_busbw_gbs or machine.THIS.group_busbw_gbs)
    if of_two and not machine.THIS.rack_nvlink:
        best = min(of_two, rate * _carried_gbs(sum(count for _, count in group)))
    return best * (1.0 if all(d.gdr for d, _ in group) else peers.WITHOUT_GDR) * slowest * _RELATIVE_TO_ALL_REDUCE[name]


def _share_of_adapters(chosen: str) -> float:
    """The share that NCCL_IB_HCA leaves: `=` and whole names. Other forms of it are not simulated, and leave all."""
    names = set(chosen.removeprefix("=").split(",")) if chosen.startswith("=") else set()
    live = [machine.hca_name(i) for i in machine.live_hcas()]
    used = [name for name in live if name in names]
    return len(used) / len(live) if used else 1.0


def _carried_gbs(ranks: int) -> float:
    """What the adapters of two nodes carry where each node reduces inside first: busbw / (ranks - 1) for each GPU. So the run hides a slow adapter."""
    per_gpu = machine.THIS.line_rate_gbps / 8 * len(machine.live_hcas()) / machine.GPUS
    return per_gpu * (ranks - 1)


def _sizes(low: int, high: int, step: int) -> list[int]:
    sizes = []
    while low <= high:
        sizes.append(low)
        low *= max(step, 2)
    return sizes


def _table(name: str, sizes: list[int], best: float, ranks: int) -> tuple[list[str], float]:
    rows, bandwidths = [], []
    reduces = "sum" if name in ("all_reduce", "reduce_scatter", _SEND_RECV) else "none"
    for size in sizes:
        cells = ""
        for place in ("out", "in"):
            busbw = best * size / (size + _HALF_SPEED_BYTES) * variation_factor(name, str(size), place, spread=0.001)
            algbw = busbw / (_BUS_FACTORS[name] * (ranks - 1) / ranks) if ranks > 1 and name != _SEND_RECV else busbw
            bandwidths.append(busbw)
            wrong = "N/A" if (name, place) == (_SEND_RECV, "in") else "0"
            cells += f"  {_time(size / algbw / 1e3)} {algbw:>7.2f} {busbw:>7.2f} {wrong:>7}"
        rows.append(f"{size:>12} {size // 4:>13} {'float':>9} {reduces:>7} {-1:>7}{cells}")
    return rows, sum(bandwidths) / len(bandwidths)


def _time(microseconds: float) -> str:
    return f"{microseconds:>7.0f}" if microseconds >= 1e5 else f"{microseconds:>7.1f}" if microseconds >= 1e3 else f"{microseconds:>7.2f}"


def _devices(group: list[tuple[Peer, int]]) -> list[str]:
    rows, rank = [], 0
    for description, ranks in group:
        for index in range(ranks):
            bus = description.gpus[index][4:].lower().removesuffix(".0")
            where = f"on {description.node:>10} device {index:>2} [{bus}] {machine.THIS.gpu_model}"
            rows.append(f"#  Rank {rank:>2} Group  0 Pid {4000 + rank:>6} {where}")
            rank += 1
    return rows


def _problem(group: list[tuple[Peer, int]], *, rack_nvlink: bool) -> str:
    for description, ranks in group:
        node = description.node
        if not description.nccl:
            return "all_reduce_perf: error while loading shared libraries: libnccl.so.2: cannot open shared object file: No such file or directory"
        if not description.driver:
            return f"{node}: Test CUDA failure common.cu:1012 'CUDA driver version is insufficient for CUDA runtime version'"
        if not description.fabric:
            return f"{node}: Test CUDA failure common.cu:1012 'system not yet initialized'"
        if rack_nvlink and description.rack:
            warnings = description.rack.format(clique=sum(n for _, n in group))
            return _nccl_failure(node, warnings, "unhandled system error (run with NCCL_DEBUG=INFO for details)")
        if ranks > len(description.gpus):
            return f"{node}: Test CUDA failure common.cu:1036 'invalid device ordinal'"
    return _strangers(group) if rack_nvlink else ""


def _strangers(group: list[tuple[Peer, int]]) -> str:
    """A node that is in no IMEX domain with another: its own check passes, then it cannot import the other's memory (src/transport/p2p.cc)."""
    domains = [(d.node, d.imex) for d, _ in group if d.imex]
    lost = next((name for name, own in domains for _, other in domains if other[0] not in own), "")
    warning = "transport/p2p.cc:281 NCCL WARN Cuda failure 801 'operation not supported'"
    return _nccl_failure(lost, warning, "unhandled cuda error (run with NCCL_DEBUG=INFO for details)") if lost else ""


def _nccl_failure(node: str, warnings: str, error: str) -> str:
    lines = [f"{node}:4000:4100 [0] {line}" for line in warnings.splitlines()]
    return "\n".join([*lines, f"{node}: Test NCCL failure common.cu:1279 '{error}'"])


def _option(words: list[str], short: str, long: str, default: str) -> str:
    for i, word in enumerate(words):
        if word in (short, long) and i + 1 < len(words):
            return words[i + 1]
        if word.startswith(f"{long}="):
            return word.partition("=")[2]
    return default


def _size(text: str) -> int:
    found = re.fullmatch(r"(\d+)([KMG]?)B?", text.upper())
    return int(found[1]) * _SUFFIX.get(found[2], 1) if found else 0


def _code(version: str) -> str:
    major, minor, patch = (int(part) for part in version.split(".")[:3])
    return str(major * 10000 + minor * 100 + patch)
