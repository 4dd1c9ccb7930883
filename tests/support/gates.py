"""Nodes, profiles and raw records for tests of burn-in gates."""

from __future__ import annotations

import json
import re
from datetime import date
from typing import TYPE_CHECKING, Any

from clusterctl.core.gates.planning.gate_plan import plan_gates
from clusterctl.core.gates.subject import subject_of
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import Outcome, RawRecord
from clusterctl.model.node import Connection, Node, NodeSpec, Place
from clusterctl.model.pcie_hop import PcieHop
from support.plain_yaml import load_yaml
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.core.gates.planning.gate_plan import GatePlan
    from clusterctl.model.gate_result import GateResult
    from clusterctl.model.level import Level

# Words of hints that send somebody to a machine with a tool.
REPAIR = re.compile(r"\bRMA\b|\breset|\breseat|\breplace|\bpower-cycle|\bDIMM", re.IGNORECASE)
# Reasons that a number or a verdict of a tool backs, although no single node could be proved to be the one.
MEASURED = frozenset({GateReason.BELOW_FLOOR, GateReason.WRONG_RESULTS, GateReason.WRONG_TRANSPORT, GateReason.GROUP_SPOILED})
TODAY = date(2026, 1, 15)
CASES = ROOT / "tests" / "cases"
SOURCE = {"source": "tests", "date": "2026-01"}
RDMA_FLOOR = {"gate": "rdma_pair", "metric": "bandwidth_average", "kind": "floor", "value": 360.0, "unit": "Gb/s", **SOURCE}
NODE_FLOOR = {"gate": "nccl_node", "metric": "busbw", "kind": "floor", "value": 460.0, "unit": "GB/s", "nodes": 1, **SOURCE}
GROUP_FLOOR = {"gate": "nccl_group", "metric": "busbw", "kind": "floor", "value": 50.0, "unit": "GB/s", **SOURCE}
# What perftest 25.07.0-0.104 prints where its buffer is in the memory of a GPU.
IN_GPU_MEMORY = "CUDA device integrated: 0\nallocated GPU buffer of a 67108864 address at 0x5f6a182d2370 for type CUDA_MEM_DEVICE\n"
ALL = ["dcgm_diag", "nccl_node", "rdma_pair", "nccl_group"]


def gates(**changes: Any) -> dict[str, Any]:
    """The `gates_*` variables of a test profile, with changes."""
    base: dict[str, Any] = {
        "gates_levels": {"quick": ["dcgm_diag"], "standard": list(ALL), "full": list(ALL)},
        "gates_settings": {},
        "gates_baselines": [dict(RDMA_FLOOR), dict(NODE_FLOOR), dict(GROUP_FLOOR)],
    }
    return {**base, **changes}


def node(name: str, *, rails: int = 2, gpus: int = 8, declared: Mapping[str, Any] | None = None, host: str = "", **hardware: Any) -> Node:
    """A node with `rails` HCAs of 400 Gb/s; `hardware`: more variables of that role."""
    hcas = [{"name": f"mlx5_{i}", "rail": i, "rate_gbps": 400, "gpu": i} for i in range(rails)]
    spec = NodeSpec(
        {"hardware": {"hardware_hcas": hcas, "hardware_gpus": gpus, **hardware}},
        dict(declared if declared is not None else gates()),
        (),
        "sha256:0",
    )
    return Node(name, (), Connection(host or f"10.0.0.{name.lstrip('abcdefghijklmnopqrstuvwxyz-') or 1}"), Place(), spec)


def nodes(count: int, **how: Any) -> tuple[Node, ...]:
    """`n1` to `n<count>`."""
    return tuple(node(f"n{i}", **how) for i in range(1, count + 1))


def plan(of: Sequence[Node], selected: Sequence[str] = ALL, level: Level = "standard") -> GatePlan:
    """The gate plan of some nodes."""
    return plan_gates([subject_of(n, TODAY) for n in of], level, selected)


def perftest(gbps: float, size: int = 8388608, device: str = "mlx5_0", title: str = "RDMA_Write BW Test") -> str:
    """The output of ib_write_bw -D."""
    return (
        "---------------------------------------------------------------------------------------\n"
        f"                    {title}\n"
        f" Dual-port       : OFF\t\tDevice         : {device}\n"
        "---------------------------------------------------------------------------------------\n"
        " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
        f" {size}    58000            0.00               {gbps:.2f}              0.005871\n"
        "---------------------------------------------------------------------------------------\n"
    )


def nccl(busbw: float, *, wrong: str = "0", via: str = "P2P/CUMEM", size: int = 17179869184, ranks: int = 8, closing: str = "0 OK") -> str:
    """The output of all_reduce_perf with the channel lines of NCCL_DEBUG=INFO."""
    devices = "".join(
        f"#  Rank {i:2} Group  0 Pid {100 + i} on n1 device {i % 8:2} [0000:1b:00] NVIDIA H100 80GB HBM3\n" for i in range(ranks)
    )
    channel = f"n1:100:120 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via {via}\n" if via else ""
    row = f"{size} {size // 4} float sum -1 65000 270.0 {busbw:.2f} {wrong} 65000 270.0 {busbw:.2f} {wrong}\n"
    return (
        f"# Using devices\n{devices}NCCL version 2.28.9+cuda13.0\n{channel}"
        "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n"
        f"{row}# Out of bounds values : {closing}\n# Avg bus bandwidth    : {busbw}\n"
    )


def snapshot(minutes: float, *, boot_id: str = "boot-1", counters: Mapping[str, Mapping[str, int]] | None = None, **more: Any) -> str:
    """The output of error_snapshot.py on a node without GPUs, `minutes` after it booted."""
    document = {
        "schema_version": 1,
        "boot_id": boot_id,
        "uptime_s": 60.0 * minutes,
        "log": {"error": "", "lines": []},
        "commands": {},
        "counters": counters or {"mlx5_0/1": {"symbol_error": 0}},
    }
    return json.dumps(document | more)


def record(gate: str, name: str, stdout: str, **more: Any) -> RawRecord:
    """A raw record of a command with exit status 0."""
    tools = {"rdma_pair": "perftest", "dcgm_diag": "dcgmi_diag", "nvbandwidth": "nvbandwidth"}
    argv = {"dcgm_diag": ("dcgmi", "diag", "-r", "2", "-j"), "nvbandwidth": ("nvbandwidth", "-j")}
    fields: dict[str, Any] = {
        "step": "solo",
        "tool": tools.get(gate, "nccl_tests"),
        "argv": argv.get(gate, ("env", "NCCL_DEBUG=INFO", "all_reduce_perf", "-g", "8")),
        "started_at": "2026-01-15T00:00:00+00:00",
        "duration_s": 1.0,
        "exit_status": 0,
        "stderr": "",
    }
    return RawRecord(gate=gate, node=name, stdout=stdout, **{**fields, **more})


def links_of_gpus(count: int) -> tuple[PcieHop, ...]:
    """The links of healthy GPUs of generation 5 under load, two below each switch: the GPU's own and the uplink of the switch."""
    hops = []
    for index in range(count):
        gpu, below = f"0000:{0x12 + 8 * index:02x}:00.0", 0x10 + 16 * (index // 2)
        own = (gpu, f"0000:{0x11 + 8 * index:02x}:00.0")
        for lower, upper in (own, (f"0000:{below:02x}:00.0", f"0000:{below - 1:02x}:01.0")):
            hops.append(PcieHop(gpu, lower, upper, 40, 32.0, 16, 32.0, 16))
    return tuple(hops)


def meeting(one: str, other: str, rail: int, number: int, found: float | str, code: str | None = None) -> list[RawRecord]:
    """The four records of both directions between two HCAs."""
    return [*link(one, other, rail, number, found, code), *link(other, one, rail, number, found, code, turn=2)]


def link(
    one: str, other: str, rail: int, number: int, found: float | str, code: str | None = None, *, turn: int = 1
) -> tuple[RawRecord, RawRecord]:
    """Both records of one run, client and server: a bandwidth in Gb/s, or the reason why there is none as text and code."""
    broken = isinstance(found, str)
    text = "" if isinstance(found, str) else perftest(found, device=f"mlx5_{rail}")
    sides = []
    for side, own, peer in (("client", one, other), ("server", other, one)):
        more = {
            "error": str(found) if broken else "",
            "exit_status": None if broken else 0,
            "error_code": GateReason(code) if code else None,
        }
        device = f"mlx5_{rail}"
        sides.append(
            record(
                "rdma_pair",
                own,
                text,
                step=f"round{number}.rail{rail}.turn{turn}.{side}",
                argv=("ib_write_bw",),
                device=device,
                peer=peer,
                peer_device=device,
                **more,
            )
        )
    return sides[0], sides[1]


def repairs_without_evidence(results: Sequence[GateResult]) -> list[str]:
    """The hints of results for which nothing was measured that are about a repair."""
    unmeasured = [r for r in results if r.outcome is Outcome.COULD_NOT_RUN and r.reason not in MEASURED]
    return [f"{r.gate} {r.reason}: {r.hint}" for r in unmeasured if REPAIR.search(r.hint)]


def load_case(folder: str, name: str) -> dict[str, Any]:
    """Load `tests/cases/<folder>/<name>/case.yml`."""
    data: dict[str, Any] = load_yaml((CASES / folder / name / "case.yml").read_text(encoding="utf-8"))
    return data


def case_names(folder: str, prefix: str = "") -> list[str]:
    """The names of the cases in a folder."""
    return sorted(p.parent.name for p in (CASES / folder).glob("*/case.yml") if p.parent.name.startswith(prefix))
