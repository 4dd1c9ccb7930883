"""What a baseline must not be: zero, above what the link can carry, tolerated twice, expired, without provenance. Pure."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from clusterctl.model.gate_result import Baseline, BaselineKind

if TYPE_CHECKING:
    from collections.abc import Sequence

_UNITS = {
    ("rdma_pair", "bandwidth_average"): "Gb/s",
    ("rdma_pair", "bandwidth_peak"): "Gb/s",
    ("nccl_node", "busbw"): "GB/s",
    ("nccl_node", "busbw_average"): "GB/s",
    ("nccl_group", "busbw"): "GB/s",
    ("nccl_group", "busbw_average"): "GB/s",
}
_LEAST_NODES = 2


def baseline_problems(
    entries: Sequence[Baseline],
    *,
    known_gates: Sequence[str],
    hca_rates_gbps: Sequence[float],
    gpus: int,
    today: date,
    group_over_network: bool = True,
) -> list[str]:
    """Everything wrong with `gates_baselines`, each with its path. `group_over_network`: the nodes of a group are joined by HCAs, not by NVLink."""
    found: list[str] = []
    for index, entry in enumerate(entries):
        where = f"gates_baselines[{index}] ({entry.gate} {entry.metric})"
        found += [f"{where}{problem}" for problem in _problems_of(entry, known_gates, today)]
        limit = None if entry.gate == "nccl_group" and not group_over_network else line_rate(entry, hca_rates_gbps, gpus)
        if limit is not None and entry.kind is not BaselineKind.CEILING and entry.value > limit:
            found.append(f"{where}.value: {entry.value:g} {entry.unit} is above the line rate, {limit:g} {entry.unit}: no node could pass")
        if entry.tolerance_percent and any(_same_scope(entry, o) and o.kind is BaselineKind.FLOOR for o in entries):
            found.append(f"{where}.tolerance_percent: a floor for the same figure exists; the tolerance would be applied twice")
    return found


def _problems_of(entry: Baseline, known_gates: Sequence[str], today: date) -> list[str]:
    found = []
    if entry.gate not in known_gates:
        found.append(f".gate: unknown gate {entry.gate!r}; known: {', '.join(known_gates)}")
    if not isinstance(entry.kind, BaselineKind):
        found.append(f".kind: {entry.kind!r} is none of {', '.join(BaselineKind)}")
    if not entry.value > 0:
        found.append(".value: is zero, negative or missing; a baseline is a measured number")
    unit = _UNITS.get((entry.gate, entry.metric))
    if unit and entry.unit != unit:
        found.append(f".unit: {entry.unit!r}; {entry.metric} is in {unit}")
    if entry.tolerance_percent and entry.kind is not BaselineKind.EXPECTED:
        found.append(f".tolerance_percent: a {entry.kind} is a limit already; the tolerance would be applied twice")
    expires = _day(entry.expires)
    if entry.expires and expires is None:
        found.append(f".expires: {entry.expires!r} is no date")
    elif expires is not None and expires < today:
        found.append(f".expires: expired on {entry.expires} ({entry.source}); renew it, or remove it")
    return found


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _same_scope(one: Baseline, other: Baseline) -> bool:
    def scope(b: Baseline) -> tuple[object, ...]:
        return (b.gate, b.metric, b.size_bytes, b.nodes, b.op)

    return one is not other and scope(one) == scope(other)


def line_rate(entry: Baseline, hca_rates_gbps: Sequence[float], gpus: int) -> float | None:
    """The most the hardware can show for a baseline's figure, in its unit; None where no law is known.

    rdma_pair: the slowest HCA. nccl_group: the HCAs of a node carry busbw * (k-1)/(n-1) per GPU when each node reduces inside
    first (k nodes, n GPUs), so busbw <= rate * (n-1)/(k-1); without a number of nodes, two are assumed, the most lenient case.
    """
    if not hca_rates_gbps:
        return None
    if entry.gate == "rdma_pair" and entry.unit == "Gb/s":
        return min(hca_rates_gbps)
    if entry.gate == "nccl_group" and entry.unit == "GB/s" and gpus > 0:
        nodes = max(entry.nodes or _LEAST_NODES, _LEAST_NODES)
        per_gpu = sum(hca_rates_gbps) / 8 / gpus
        return per_gpu * (nodes * gpus - 1) / (nodes - 1)
    return None
