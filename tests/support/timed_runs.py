"""Runs with times: from cases, and reports of any size with made-up phases."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from clusterctl.core import timestamps
from clusterctl.core.timeline_spans import TimeSources, run_timeline
from clusterctl.model.records import TransitionRow
from clusterctl.model.run_report import GateSpan
from clusterctl.model.run_timeline import PhasePart
from clusterctl.model.state import State
from support.big_report import big_report

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.model.run_report import RunReport

START = "2026-03-14T09:00:00.000000Z"
_LENGTH_S = 360


def at(seconds: float | str) -> str:
    """A moment of the run; a word stays as it is."""
    return seconds if isinstance(seconds, str) else timestamps.after(START, seconds)


def sources_of(case: Mapping[str, Any]) -> TimeSources:
    """The keys of `case` are those of tests/cases/timelines/cases.yml."""
    parts = [
        PhasePart(
            p["phase"],
            at(p["at"]),
            tuple(p.get("nodes", p.get("spans", ()))),
            {n: (float(first), float(last)) for n, (first, last) in p.get("spans", {}).items()},
            p.get("is_over", True),
        )
        for p in case.get("parts", ())
    ]
    ended = case.get("ended", _LENGTH_S)
    return TimeSources(
        case.get("started", START),
        "" if ended is None else at(ended),
        case.get("is_over", True),
        ("n1", "n2"),
        parts,
        {n: [_step(n, seconds, state) for seconds, state in own] for n, own in case.get("steps", {}).items()},
        {n: [(at(seconds), took) for seconds, took in own] for n, own in case.get("answers", {}).items()},
        {n: {g: GateSpan(at(b), at(e)) for g, (b, e) in own.items()} for n, own in case.get("gates", {}).items()},
        case.get("damaged", ""),
        at(case["not_after"]) if "not_after" in case else "",
    )


GATES = ("dcgm_diag", "gpu_stress", "nccl_node", "rdma_pair")


def report_with_times(nodes: int, gates: Sequence[str] = GATES) -> RunReport:
    """A run whose fourth node is slow to apply and reboot, whose fifth never began, and whose last has a gate that takes long."""
    report = big_report(nodes)
    names = tuple(s.name for s in report.sections)
    begun = tuple(n for n in names if n != names[4])
    slow = names[3]

    def part(phase: str, began: float, usual: float, late: float, order: float = 0.0) -> PhasePart:
        spans = {n: (order * (i % 4), order * (i % 4) + (late if n == slow else usual + i % 18 / 2)) for i, n in enumerate(begun)}
        return PhasePart(phase, at(began), begun, spans, is_over=True)

    parts = (
        part("check", 0, 4, 5),
        part("apply", 20, 600, 900),
        part("reboot", 930, 300, 420, 100),
        part("verify", 1700, 6, 7),
        part("burn in", 1720, 900, 880),
        part("verify after the load", 2660, 6, 7),
        PhasePart("admit", at(2680), begun, {n: (i / 100, i / 100 + 0.05) for i, n in enumerate(begun)}, is_over=True),
    )
    each_s = 800 // len(gates)
    spans = {n: {g: GateSpan(at(1725 + each_s * i), at(1715 + each_s * (i + 1))) for i, g in enumerate(gates)} for n in begun}
    return replace(report, timeline=run_timeline(TimeSources(START, at(2880), is_over=True, nodes=names, parts=parts, gates=spans)))


def _step(node: str, seconds: float | str, state: str) -> TransitionRow:
    return TransitionRow(0, node, "run", "alice", State.REGISTERED, State(state), "", "d" * 64, at(seconds), 1)
