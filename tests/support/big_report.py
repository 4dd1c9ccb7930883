"""Reports of runs of any size, made of the recorded findings of a lab node and of gate results with its devices. Numbers are made up and marked so."""

from __future__ import annotations

import itertools
import json
import zlib
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from clusterctl.model.findings import NodeFindings, NodeStatus
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome
from clusterctl.model.measured_curve import CURVE_RUNS, Curves, NodeCurve
from clusterctl.model.measurement_series import FleetDay, MeasuredPoint, MeasurementSeries
from clusterctl.model.records import NodeRecord, RunRow, RunStatus, TransitionRow
from clusterctl.model.run_report import EvidenceLink, NodeSection, RunReport
from clusterctl.model.state import State
from clusterctl_validators.finding import Finding, Severity
from support.rack_after_run import a_pair_record
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterctl.model.gate_result import RawRecord

RUN = "20260314-090000-provision-aaaa"
PER_RACK = 18
_DEVICES = tuple(f"mlx5_{i}" for i in range(8))
_PER_GPU = (
    "memory",
    "clock",
    "power",
    "temperature",
    "slowdown",
    "ecc",
    "remapped_rows",
    "pcie_width",
    "pcie_speed",
    "nvlink",
    "flops",
    "diag_memory",
)
_OF_FEBRUARY = 14
_STEPS = (State.REGISTERED, State.PROVISIONING, State.PROVISIONED, State.VALIDATED, State.BURNED_IN, State.ADMITTED)
_AT = "2026-03-14T09:{:02d}:00.000000Z"


def big_report(nodes: int) -> RunReport:
    """A run that provisioned `nodes` nodes, 18 to a rack; one in 24 has something wrong, of five kinds."""
    run = RunRow(
        RUN,
        "provision",
        "all" if nodes > PER_RACK else "rack-12",
        "alice",
        _AT.format(0),
        ("clusterctl", "provision", "all"),
        {"clusterctl": "0.1.0"},
        "",
        RunStatus.DONE,
        _AT.format(48),
        7,
    )
    return RunReport(
        run,
        "done",
        _AT.format(50),
        tuple(_section(i) for i in range(nodes)),
        (EvidenceLink("provision.log", "provision.log"),),
        tuple(_records(nodes)),
        curves=Curves(tuple(made_up_curve(node_name(i), "mlx5_3", 92.0 + i % 7) for i in range(nodes) if i % 24 == 3 and i // 24 % 5 == 0)),
    )


def made_up_curve(node: str, device: str, newest: float) -> NodeCurve:
    """A device that was fine in 19 runs and is slow in the last; it is another one since the third. The fleet was not measured in the first and in the fifth."""
    days = [f"2026-02-{15 + i:02d}" if i < _OF_FEBRUARY else f"2026-03-{i - _OF_FEBRUARY + 1:02d}" for i in range(CURVE_RUNS)]
    values = [*(_between(362, 392, node, device, day) for day in days[:-1]), newest]
    points = tuple(
        MeasuredPoint(f"run-{day}", f"{day}T09:00:00.000000Z", value, Outcome.FAIL if value == newest else Outcome.PASS, simulated=True)
        for day, value in zip(days, values, strict=True)
    )
    fleet = tuple(None if i in (0, 4) else FleetDay(day, 71, 364.0 + i % 3, 377.1 + i % 4, 390.0 - i % 2) for i, day in enumerate(days))
    series = MeasurementSeries("rdma_pair", "bandwidth_average", device, "Gb/s", "", None, "6.24", 360.0, points, fleet)
    return NodeCurve(node, series, 360.0, is_upper=False, earlier_part=(True, True, *[False] * (CURVE_RUNS - 2)))


@cache
def recorded_findings() -> tuple[Finding, ...]:
    """What the validators found on a lab node."""
    rows = json.loads((ROOT / "benchmarks/recorded/lab_node_findings.json").read_text())
    return tuple(Finding(**{**r, "outcome": Outcome(r["outcome"]), "severity": Severity(r["severity"])}) for r in rows)


def node_name(index: int) -> str:
    """The name of a node by its place in the run."""
    return f"r{12 + index // PER_RACK:03d}-n{index % PER_RACK + 1:02d}"


def _section(index: int) -> NodeSection:
    name, rack = node_name(index), 12 + index // PER_RACK
    kind = index // 24 % 5 if index % 24 == 3 else -1
    findings, results = list(recorded_findings()), _results(name, index)
    status, state, reason = NodeStatus.OK, State.ADMITTED, ""
    if kind == 0:
        bad = next(i for i, r in enumerate(results) if r.device == "mlx5_3")
        results[bad] = _slow(results[bad], 92.0 + index % 7)
        state, reason = State.QUARANTINED, f"rdma_pair mlx5_3: bandwidth_average {92 + index % 7} of 400 Gb/s, expected >= 360 Gb/s"
    elif kind == 1:
        findings[5] = replace(findings[5], outcome=Outcome.FAIL, found="15 modules", hint=f"reseat the memory of {name}")
        state, reason = State.QUARANTINED, findings[5].check
    elif kind == 2:
        findings, results, status = [], [], NodeStatus.UNREACHABLE
        state, reason = State.QUARANTINED, "does not answer"
    elif kind == 3:
        state, reason = State.QUARANTINED, "role ofed: install packages: E: Unable to locate package doca-ofed"
    elif kind == 4:
        state, reason = State.MAINTENANCE, "bob replaces a fan"
    record = NodeRecord(name, f"rack-{rack}", index % PER_RACK + 1, ("all",), state, reason, "d" * 64, RUN, _AT.format(40), "hgx_h100")
    links = tuple(EvidenceLink(f, f) for f in (f"gates/{g}/{name}.json" for g in ("rdma_pair", "dcgm_diag", "gpu_stress", "nccl_node")))
    detail = "ssh: connect to host: No route to host" if status is not NodeStatus.OK else ""
    return NodeSection(
        record,
        state,
        reason,
        NodeFindings(name, status, detail, tuple(findings), 1.5),
        None,
        tuple(results),
        None,
        _steps(name, state),
        links,
    )


def _results(name: str, index: int) -> list[GateResult]:
    def one(gate: str, rule: str, metric: str, device: str, value: float, limit: float, unit: str) -> GateResult:
        return GateResult(
            gate,
            name,
            Outcome.PASS,
            rule,
            metric,
            f">= {limit:g} {unit}",
            f"{value:.2f} {unit}",
            device,
            source="made up for a test of the page",
            simulated=True,
            value=value,
            limit=limit,
            unit=unit,
        )

    pairs = [one("rdma_pair", "floor", "bandwidth_average", d, _between(362, 392, name, d), 360, "Gb/s") for d in _DEVICES]
    gpus = [
        one("gpu_stress", "floor" if m == "flops" else "threshold", m, f"GPU {g}", _between(640, 720, name, m, g), 600, "units")
        for g in range(8)
        for m in _PER_GPU
    ]
    return [*pairs, *gpus, one("nccl_node", "floor", "busbw", "", _between(452, 486, name), 450, "GB/s")]


def _between(low: float, high: float, *words: object) -> float:
    """A number with two decimals that is the same in all processes."""
    return round(low + (high - low) * zlib.crc32(repr(words).encode()) / 2**32, 2)


def _records(nodes: int) -> Iterator[RawRecord]:
    """Each node with the next two, on every rail."""
    for i, step, device in itertools.product(range(nodes), (1, 2), _DEVICES):
        name, peer = node_name(i), node_name((i + step) % nodes)
        slow = device == "mlx5_3" and any(k % 24 == 3 and k // 24 % 5 == 0 for k in (i, (i + step) % nodes))
        value = 94.0 if slow else _between(362, 392, name, peer, device)
        yield a_pair_record(name, peer, int(device[-1]), "client", value)


def _slow(result: GateResult, value: float) -> GateResult:
    return replace(
        result,
        outcome=Outcome.FAIL,
        found=f"{value:.1f} of 400 Gb/s",
        value=value,
        reason=GateReason.BELOW_FLOOR,
        detail="all 5 partners were fine with others",
        hint=f"check cable and port of {result.device}, then `clusterctl release {result.node}`",
    )


def _steps(name: str, last: State) -> tuple[TransitionRow, ...]:
    states = [*_STEPS[:-1], last]
    return tuple(
        TransitionRow(i, name, RUN, "alice", one, other, "", "d" * 64, _AT.format(i * 8), 1)
        for i, (one, other) in enumerate(itertools.pairwise(states))
    )
