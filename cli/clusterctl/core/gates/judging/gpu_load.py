"""GPUs under load: what held them back, and their rate and clock among equal GPUs. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Any

from clusterctl.core.gates.judging.limits import compare_with_limits, floors, limit_text
from clusterctl.core.gates.judging.peers import FAIL, WARN, standings
from clusterctl.core.gates.planning.devices import gpu_model_of
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome, Sample
from clusterctl_tools.gpu import UnreadableGpuError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

    from clusterctl.core.gates.gate import Gate
    from clusterctl.core.gates.judging.evidence import Evidence
    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import RawRecord
    from clusterctl.model.trace_sample import TraceSample
    from clusterctl_tools.gpu import GpuUnderLoad

    ReadLoad = Callable[[str], Sequence[GpuUnderLoad]]

Key = tuple[str, str]


# Of the samples under load: clocks and temperatures rise in the first tenth.
_WARM_UP = 0.1
_LEAST_SAMPLES = 3
# The GPUs of one node are a comparison: a tray of an NVL72 rack has four.
_LEAST_GPUS = 4
# As the counter of the same name in load_errors: healthy GB200 trays show it for seconds.
_HELD_BACK_SHARE = 0.01
# nvidia-smi answers in tenths of a second; assumed: ten seconds are a symptom. It was seen to take 30 s before a GPU died.
_SLOW_QUERY_S = 10.0


_RANK = {Outcome.FAIL: 0, Outcome.WARN: 1, Outcome.PASS: 2}


@dataclass(frozen=True, slots=True)
class _Figure:
    """What is compared among peers: z and the share of the median below which it fails or warns."""

    rule: str
    metric: str
    unit: str
    fail: tuple[float, float]
    warn: tuple[float, float]


_RATE = _Figure("rate", "gemm_per_clock", "GFLOPS/MHz", FAIL, WARN)
# Assumed: good GB200 GPUs differ by 8.8 % (binning, a note of GKE), so only a clock that is further below its peers is a fault.
_CLOCK = _Figure("clock", "sm_clock", "MHz", (-6.0, 0.15), (-3.5, 0.10))


@dataclass(frozen=True, slots=True)
class _Loaded:
    """One GPU over the time of its load, without the warm-up; None = nvidia-smi does not report it."""

    clock_mhz: float | None
    power_w: float | None
    temperature_c: float | None
    margin_c: float | None
    slowdowns: tuple[str, ...]
    held_back: float


def judge_load(
    gate: Gate[Any], evidence: Evidence, rates: Mapping[Key, float], traces: Mapping[str, RawRecord], read: ReadLoad
) -> Iterator[GateResult]:
    """The results of all nodes with a trace: what is missing, the slowdowns, the floor, and rate and clock among their peers.

    `rates`: TFLOPS by node and GPU; `read`: the GPUs in one answer of the vendor's tool, or UnreadableGpuError.
    """
    loaded: dict[Key, _Loaded] = {}
    for name in sorted(set(traces) | {node for node, _gpu in rates}):
        subject = evidence.subjects[name]
        own, results = _traced(gate, subject, traces.get(name), read)
        yield from results
        if own is not None:
            loaded |= {(name, device): load for device, load in own.items()}
            yield from _missing(gate, subject, evidence, own)
            yield from _slowdowns(gate, name, own)
        yield from _floors(gate, subject, {gpu: rate for (node, gpu), rate in rates.items() if node == name})
    yield from _among_peers(gate, evidence, rates, loaded)


def _traced(
    gate: Gate[Any], subject: Subject, record: RawRecord | None, read: ReadLoad
) -> tuple[dict[str, _Loaded] | None, list[GateResult]]:
    """GPU -> its load, None where the trace is no evidence; and what is wrong with it."""
    blank = GateResult(gate.name, subject.name, Outcome.COULD_NOT_RUN, "complete", "trace", reason=GateReason.INCOMPLETE)
    if record is None:
        return None, [replace(blank, detail="the trace of clocks and temperatures is missing")]
    results = _queries(blank, record.trace)
    moments: dict[str, list[GpuUnderLoad]] = {}
    for sample in record.trace:
        if sample.exit_status is None:
            continue  # judged as slow
        if sample.exit_status:
            return None, [*results, _failed(blank, sample, read)]
        try:
            rows = read(sample.stdout)
        except UnreadableGpuError as e:
            return None, [*results, replace(blank, reason=GateReason.UNPARSABLE, detail=str(e))]
        for row in (r for r in rows if not r.idle):
            moments.setdefault(f"gpu{row.index}", []).append(row)
    warm = {device: rows[int(_WARM_UP * len(rows)) :] for device, rows in moments.items()}
    return {device: _load_of(rows) for device, rows in warm.items() if len(rows) >= _LEAST_SAMPLES}, results


def _failed(blank: GateResult, sample: TraceSample, read: ReadLoad) -> GateResult:
    """A failure of the vendor's tool under load: some of its messages are that a GPU is gone."""
    first = next((line.strip() for line in sample.stdout.splitlines() if line.strip()), f"exit status {sample.exit_status}")
    outcome, reason = Outcome.COULD_NOT_RUN, GateReason.TOOL_FAILED
    try:
        read(first)
    except UnreadableGpuError as e:
        if e.lost:
            outcome, reason = Outcome.FAIL, GateReason.DEVICE_LOST
    return replace(blank, outcome=outcome, reason=reason, detail=f"nvidia-smi failed under load: {first}")


def _load_of(rows: Sequence[GpuUnderLoad]) -> _Loaded:
    def known(name: str) -> list[float]:
        return [value for row in rows if (value := getattr(row, name)) is not None]

    clocks, powers = known("clock_mhz"), known("power_w")
    return _Loaded(
        clock_mhz=median(clocks) if clocks else None,
        power_w=median(powers) if powers else None,
        temperature_c=max(known("temperature_c"), default=None),
        margin_c=min(known("margin_c"), default=None),
        slowdowns=tuple(dict.fromkeys(name for row in rows for name in row.slowdowns)),
        held_back=sum(row.held_back for row in rows) / len(rows),
    )


def _queries(blank: GateResult, trace: Sequence[TraceSample]) -> list[GateResult]:
    """A driver that answers slowly under load."""
    slowest = max((s.took_s for s in trace), default=0.0)
    never = sum(s.exit_status is None for s in trace)
    if slowest < _SLOW_QUERY_S and not never:
        return []
    detail = f"nvidia-smi took up to {limit_text(slowest)} s under load" + (
        f", and {never} of {len(trace)} times it did not answer" if never else ""
    )
    outcome = Outcome.FAIL if never else Outcome.WARN
    slow = replace(blank, outcome=outcome, rule="query", metric="nvidia_smi", reason=GateReason.QUERY_SLOW, detail=detail)
    return [
        replace(
            slow,
            value=slowest,
            limit=_SLOW_QUERY_S,
            unit="s",
            expected=f"<= {limit_text(_SLOW_QUERY_S)} s",
            found=f"{limit_text(slowest)} s",
        )
    ]


def _missing(gate: Gate[Any], subject: Subject, evidence: Evidence, own: Mapping[str, _Loaded]) -> Iterator[GateResult]:
    """GPUs without a load, or without enough samples."""
    ran = {r.device for r in evidence.records if r.node == subject.name}
    for device in (f"gpu{i}" for i in range(subject.gpus)):
        if device not in ran:
            yield _incomplete(gate, subject, device, "no record of its load came back")
        elif device not in own:
            yield _incomplete(gate, subject, device, f"nvidia-smi showed it under load fewer than {_LEAST_SAMPLES} times")
        elif own[device].clock_mhz is None:
            yield _incomplete(gate, subject, device, "nvidia-smi does not show its clock")


def _incomplete(gate: Gate[Any], subject: Subject, device: str, detail: str) -> GateResult:
    return GateResult(
        gate.name,
        subject.name,
        Outcome.COULD_NOT_RUN,
        "complete",
        device=device,
        detail=f"{device}: {detail}",
        reason=GateReason.INCOMPLETE,
    )


def _slowdowns(gate: Gate[Any], node: str, own: Mapping[str, _Loaded]) -> Iterator[GateResult]:
    """What held a clock back: heat or a power brake in hardware fails, heat in software for more than a moment warns."""
    blank = GateResult(gate.name, node, Outcome.PASS, "slowdown", "clock", source="nvml.h, nvmlClocksEventReasons; Azure's thermal test")
    bad = False
    for device, load in sorted(own.items()):
        heat = ", ".join(
            text
            for value, text in (
                (load.temperature_c, f"{limit_text(load.temperature_c or 0)} C"),
                (load.margin_c, f"margin {limit_text(load.margin_c or 0)} C"),
            )
            if value is not None
        )
        slowed = replace(blank, device=device, reason=GateReason.SLOWED_DOWN, expected="no slowdown", detail=heat)
        if load.slowdowns:
            bad = True
            yield replace(slowed, outcome=Outcome.FAIL, found=", ".join(load.slowdowns))
        elif load.held_back > _HELD_BACK_SHARE:
            bad = True
            yield replace(slowed, outcome=Outcome.WARN, found=f"SW thermal slowdown in {load.held_back:.0%} of the samples")
    if own and not bad:
        yield replace(blank, found=f"no slowdown of {len(own)} GPUs", detail=_summary(list(own.values())))


def _summary(loads: Sequence[_Loaded]) -> str:
    """Clocks, power and temperatures of a node's GPUs, for people."""
    parts = []
    for name, unit in (("clock_mhz", "MHz"), ("power_w", "W"), ("temperature_c", "C")):
        values = [value for load in loads if (value := getattr(load, name)) is not None]
        if values:
            parts.append(f"{min(values):.0f} to {max(values):.0f} {unit}")
    return ", ".join(parts)


def _floors(gate: Gate[Any], subject: Subject, rates: Mapping[str, float]) -> tuple[GateResult, ...]:
    """The rates against the floor of the profile, where it has one."""
    limits = gate.limits_of(subject, 1)
    samples = [Sample("gemm", rate, "TFLOPS", device=device) for device, rate in sorted(rates.items())]
    if not samples or not floors(limits):
        return ()
    return compare_with_limits(gate.name, subject.name, samples, limits, nodes=1)


def _among_peers(gate: Gate[Any], evidence: Evidence, rates: Mapping[Key, float], loaded: Mapping[Key, _Loaded]) -> Iterator[GateResult]:
    """Rate per clock, which is of the GPU, and clock, which is of cooling and power, among the GPUs of the node and of the run."""
    versions = {r.node: r.tool_version for r in evidence.records}
    models = {name: (gpu_model_of(s.node), versions.get(name, "")) for name, s in evidence.subjects.items()}
    clocks = {key: load.clock_mhz for key, load in loaded.items() if load.clock_mhz and key in rates}
    per_clock = {key: 1000 * rates[key] / clock for key, clock in clocks.items()}
    for name in sorted({node for node, _gpu in clocks}):
        yield from _against(gate, name, per_clock, models, _RATE)
        yield from _against(gate, name, clocks, models, _CLOCK)


def _against(
    gate: Gate[Any], node: str, values: Mapping[Key, float], models: Mapping[str, Hashable], figure: _Figure
) -> Iterator[GateResult]:
    """A node's GPUs against each other, and against all of their model in the run."""
    own = {key: value for key, value in values.items() if key[0] == node}
    beside = standings(own, dict.fromkeys(own, node), _LEAST_GPUS)
    fleet = standings(values, {key: models[key[0]] for key in values})
    blank = GateResult(gate.name, node, Outcome.PASS, figure.rule, figure.metric, unit=figure.unit)
    low = []
    for key, value in sorted(own.items()):
        outcome, standing = min(((s.outcome_at(figure.fail, figure.warn), s) for s in (beside[key], fleet[key])), key=lambda o: _RANK[o[0]])
        if outcome is not Outcome.PASS:
            bad = replace(
                blank, outcome=outcome, device=key[1], value=value, reason=GateReason.BELOW_PEERS, detail=standing.text(figure.unit)
            )
            low.append(replace(bad, expected="as its peers", found=f"{limit_text(value)} {figure.unit}"))
    if low:
        yield from low
        return
    least, most = (limit_text(v) for v in (min(own.values()), max(own.values())))
    few = "" if len(own) >= _LEAST_GPUS else f"{len(own)} GPUs of the node are no comparison"
    yield replace(blank, found=f"{least} to {most} {figure.unit}", value=min(own.values()), detail=few)
