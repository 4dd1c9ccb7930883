"""Raw records of gates that load GPUs, with a trace of clocks, power and temperatures; and reports with such loads. Numbers are made up and marked so."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from clusterctl.core.load_traces import node_traces
from clusterctl.core.wanted_loads import loads_with_room, wanted_loads
from clusterctl.model.gate_result import GateResult, Outcome, RawRecord
from clusterctl.model.load_trace import MissingTrace, NodeLoads, NoPicture
from clusterctl.model.trace_sample import TraceSample
from support.big_report import big_report
from support.gates import record

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from clusterctl.model.load_trace import LoadTrace
    from clusterctl.model.run_report import RunReport

_USUAL = {"clock": 1485, "power": 693.5, "temperature": 66, "margin": 20, "reasons": "0x0000000000000004"}
_AT_REST = {"clock": 345, "reasons": "0x0000000000000001"}
_EVERY_S = 5.0
_TOOLS = {"gpu_stress": "ubergemm", "torch_gemm": "torch_gemm"}


def load_answer(gpus: Iterable[int], slow: Mapping[int, Mapping[str, Any]]) -> str:
    """One answer of nvidia-smi; `slow`: GPU -> what differs."""
    lines = []
    for gpu in gpus:
        own = _USUAL | dict(slow.get(gpu, {}))
        shown = f"{own['clock']}, {own['power']}, 700.00, {own['temperature']}, {own['margin']}, 84, {own['reasons']}"
        lines.append(f"{gpu}, 00000000:{gpu + 16:02X}:00.0, {shown}\n")
    return "".join(lines)


def traced(case: Mapping[str, Any], node: str = "n1", *, step: str = "trace", gate: str = "gpu_stress") -> RawRecord:
    """The record of a trace; the keys of `case` are those of tests/cases/load_traces/cases.yml."""
    trace = []
    for number in range(case.get("samples", 20)):
        slow: dict[int, dict[str, Any]] = {gpu: dict(case.get("all", {})) for gpu in range(case.get("gpus", 8))}
        for gpu, change in case.get("slow", {}).items():
            if change.get("from", 0) <= number < change.get("until", case.get("samples", 20)):
                slow[gpu] |= change
        if number in case.get("idle", ()):
            slow = dict.fromkeys(slow, _AT_REST)
        text = load_answer((gpu for gpu in slow if number < case.get("gone", {}).get(gpu, number + 1)), slow)
        instead = case.get("answers", {}).get(number, {"status": 0, "text": text})
        trace.append(TraceSample(_EVERY_S * number, 0.2, instead["status"], instead["text"]))
    return record(gate, node, "", step=step, tool=_TOOLS[gate], duration_s=100.0, trace=tuple(trace), simulated=True)


def a_bad_load(node: str, *, device: str = "gpu6", outcome: Outcome = Outcome.FAIL, gate: str = "gpu_stress") -> GateResult:
    """A GPU that heat held back."""
    return GateResult(gate, node, outcome, "slowdown", "clock", "no slowdown", "HW slowdown", device, simulated=True)


def hot(node: str, *, gpus: int = 8, samples: int = 186, step: str = "trace", gate: str = "gpu_stress") -> RawRecord:
    """A trace in which nothing is twice the same, with GPU 6 too warm in its last third."""
    noise = {gpu: {"clock": 1480 + 7 * gpu % 11, "power": 690 + gpu, "temperature": 60 + gpu, "margin": 25 - gpu} for gpu in range(gpus)}
    late = {"clock": 742, "temperature": 91, "margin": -2, "reasons": "0x0000000000000048"}
    texts = [
        load_answer(range(gpus), {g: {k: v + (n * (g + 3)) % 9 for k, v in own.items()} for g, own in noise.items()})
        for n in range(samples)
    ]
    texts[samples * 2 // 3 :] = [load_answer(range(gpus), noise | {6: late})] * (samples - samples * 2 // 3)
    trace = tuple(TraceSample(_EVERY_S * n, 0.2, 0, text) for n, text in enumerate(texts))
    return record(gate, node, "", step=step, tool=_TOOLS[gate], duration_s=_EVERY_S * samples, trace=trace, simulated=True)


def report_with_loads(nodes: int, drawn: int, *, gpus: int = 8, gates: Sequence[str] = ("gpu_stress",)) -> RunReport:
    """A run whose first nodes have a GPU that heat held back, at first and in the repeat."""
    report = big_report(nodes)
    sections = [replace(s, gate_results=(*s.gate_results, *(a_bad_load(s.name, gate=g) for g in gates))) for s in report.sections[:drawn]]
    room = loads_with_room((*sections, *report.sections[drawn:]))
    loads = []
    for section, gate in wanted_loads(sections):
        found: tuple[LoadTrace | MissingTrace, ...] = (MissingTrace(is_again=False, why=NoPicture.NO_ROOM),)
        if (section.name, gate.name) in room:
            runs = [
                hot(section.name, gpus=gpus, gate=gate.name),
                hot(section.name, gpus=gpus, samples=66, step="again.trace", gate=gate.name),
            ]
            found = tuple(node_traces(gate, runs, section.name, ["gpu6"]))
        loads.append(NodeLoads(section.name, gate.name, "", found))
    return replace(report, sections=(*sections, *report.sections[drawn:]), loads=tuple(loads))
