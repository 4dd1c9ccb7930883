"""GPUs under load: what held them back, and their rate and clock among equal GPUs. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from clusterctl.core.gates.judging.each_device import passing_devices
from clusterctl.core.gates.judging.gpu_trace import LEAST_SAMPLES, read_trace, slow_among_nodes
from clusterctl.core.gates.judging.limits import compare_with_limits, floors, limit_text
from clusterctl.core.gates.judging.peers import FAIL, WARN, standings
from clusterctl.core.gates.judging.power_limits import LEAST_GPUS, by_power_limit, usual_limits
from clusterctl.core.gates.judging.thermal_margin import hot_alone
from clusterctl.core.gates.judging.without_limit import without_limit
from clusterctl.core.gates.planning.devices import gpu_model_of, gpu_power_limit_of
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome, Sample
from clusterctl.model.running_text import counted

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    from clusterctl.core.gates.gate import Gate
    from clusterctl.core.gates.judging.evidence import Evidence
    from clusterctl.core.gates.judging.gpu_trace import Loaded, ReadLoad
    from clusterctl.core.gates.judging.power_limits import Key
    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import RawRecord

# The metric of a slowdown that the power supplies request; every other one is of the clock.
POWER_BRAKE = "power_brake"
# That of clocks which a user set (nvidia-smi -ac, -lgc).
CLOCK_SETTING = "clock_setting"
# As the counter of the same name in load_errors: healthy GB200 trays show it for seconds.
_HELD_BACK_SHARE = 0.01
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


def judge_load(
    gate: Gate[Any], evidence: Evidence, rates: Mapping[Key, float], traces: Mapping[str, RawRecord], read: ReadLoad
) -> Iterator[GateResult]:
    """The results of all nodes with a trace: what is missing, the slowdowns, the floor, and rate and clock among their peers.

    `rates`: TFLOPS by node and GPU; `read`: the GPUs in one answer of the vendor's tool, or UnreadableGpuError.
    """
    loaded: dict[Key, Loaded] = {}
    for name in sorted(set(traces) | {node for node, _gpu in rates}):
        subject = evidence.subjects[name]
        own, results = read_trace(gate, subject, traces.get(name), read)
        yield from results
        if own is not None:
            loaded |= {(name, device): load for device, load in own.items()}
            yield from _missing(gate, subject, evidence, own)
            yield from _slowdowns(gate, name, own)
        yield from _floors(gate, subject, {gpu: rate for (node, gpu), rate in rates.items() if node == name})
    models = {name: gpu_model_of(subject.node) for name, subject in evidence.subjects.items()}
    yield from slow_among_nodes(gate, traces, models)
    yield from hot_alone(gate.name, loaded, models)
    yield from _among_peers(gate, evidence, rates, loaded)


def load_figures(
    gate: Gate[Any], subject: Subject, rates: Mapping[Key, float], trace: RawRecord | None, read: ReadLoad
) -> dict[tuple[str, str], str]:
    """What was measured of each GPU of a node, for people: (metric, GPU) -> the figure with its unit."""
    own = {key: rate for key, rate in rates.items() if key[0] == subject.name}
    loaded, _ = read_trace(gate, subject, trace, read)
    clocks = _clocks(own, {(subject.name, device): load for device, load in (loaded or {}).items()})
    found = (("gemm", "TFLOPS", own), (_RATE.metric, _RATE.unit, _per_clock(own, clocks)), (_CLOCK.metric, _CLOCK.unit, clocks))
    return {(metric, gpu): f"{limit_text(value)} {unit}" for metric, unit, values in found for (_node, gpu), value in values.items()}


def _clocks(rates: Mapping[Key, float], loaded: Mapping[Key, Loaded]) -> dict[Key, float]:
    return {key: load.clock_mhz for key, load in loaded.items() if load.clock_mhz and key in rates}


def _per_clock(rates: Mapping[Key, float], clocks: Mapping[Key, float]) -> dict[Key, float]:
    return {key: 1000 * rates[key] / clock for key, clock in clocks.items()}


def _missing(gate: Gate[Any], subject: Subject, evidence: Evidence, own: Mapping[str, Loaded]) -> Iterator[GateResult]:
    """GPUs without a load, or without enough samples."""
    ran = {r.device for r in evidence.records if r.node == subject.name}
    for device in (f"gpu{i}" for i in range(subject.gpus)):
        if device not in ran:
            yield _incomplete(gate, subject, device, "no record of its load came back")
        elif device not in own:
            yield _incomplete(gate, subject, device, f"nvidia-smi showed it under load fewer than {LEAST_SAMPLES} times")
        elif not own[device].clock_mhz:
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


def _slowdowns(gate: Gate[Any], node: str, own: Mapping[str, Loaded]) -> Iterator[GateResult]:
    """What held a clock back: heat or a power brake in hardware fails, heat in software for more than a moment, clocks that a user set, or no margin left, warn."""
    blank = GateResult(gate.name, node, Outcome.PASS, "slowdown", "clock", source="nvml.h, nvmlClocksEventReasons; Azure's thermal test")
    bad = False
    for device, load in sorted(own.items()):
        heat = _summary([load])
        slowed = replace(blank, device=device, reason=GateReason.SLOWED_DOWN, expected="no slowdown", detail=heat)
        if load.slowdowns:
            bad = True
            metric = POWER_BRAKE if load.braked else slowed.metric
            yield replace(slowed, outcome=Outcome.FAIL, metric=metric, found=", ".join(load.slowdowns))
        elif load.held_back > _HELD_BACK_SHARE:
            bad = True
            yield replace(slowed, outcome=Outcome.WARN, found=f"SW thermal slowdown in {load.held_back:.0%} of the samples")
        elif load.clock_setting > _HELD_BACK_SHARE:
            bad = True
            shown = f"a clock setting limits it in {load.clock_setting:.0%} of the samples"
            yield replace(slowed, outcome=Outcome.WARN, metric=CLOCK_SETTING, found=shown)
        elif load.margin_c is not None and load.margin_c <= 0:
            bad = True
            yield replace(
                slowed, outcome=Outcome.WARN, found=f"{limit_text(load.margin_c)} C left to the temperature at which it slows down"
            )
    if own and not bad:
        yield replace(blank, found=f"no slowdown of {counted(len(own), 'GPU')}", detail=_summary(list(own.values())))


def _summary(loads: Sequence[Loaded]) -> str:
    """Clocks, power and temperatures of a node's GPUs, for people."""
    parts = []
    for name, text in (("clock_mhz", "{} MHz"), ("power_w", "{} W"), ("temperature_c", "{} C"), ("margin_c", "margin {} C")):
        values = [f"{value:.0f}" for load in loads if (value := getattr(load, name)) is not None]
        if values:
            ends = dict.fromkeys((min(values, key=float), max(values, key=float)))
            parts.append(text.format(" to ".join(ends)))
    return ", ".join(parts)


def _floors(gate: Gate[Any], subject: Subject, rates: Mapping[str, float]) -> tuple[GateResult, ...]:
    """The rates against the floor of the profile; without one they are shown."""
    limits = gate.limits_of(subject, 1)
    samples = [Sample("gemm", rate, "TFLOPS", device=device) for device, rate in sorted(rates.items())]
    if not samples:
        return ()
    shown = tuple(without_limit(subject.name, gate.limited_figures(subject.profile.settings_of(gate)), samples, limits, gate.direction))
    # Peers decide without a floor, too, but GPUs that have neither are judged by nothing.
    if not floors(limits) and subject.gpus >= LEAST_GPUS:
        return shown
    return (*compare_with_limits(gate.name, subject.name, samples, limits, nodes=1), *shown)


def _among_peers(gate: Gate[Any], evidence: Evidence, rates: Mapping[Key, float], loaded: Mapping[Key, Loaded]) -> Iterator[GateResult]:
    """Rate per clock, which is of the GPU, power limit, and clock, which is of cooling and power, among the GPUs of the node and of the run."""
    versions = {r.node: r.tool_version for r in evidence.records}
    models = {name: (gpu_model_of(s.node), versions.get(name, "")) for name, s in evidence.subjects.items()}
    # Where a site declares a limit for some nodes, they are not peers of the others in what it lowers.
    powers = {name: (models[name], gpu_power_limit_of(s.node)) for name, s in evidence.subjects.items()}
    clocks = _clocks(rates, loaded)
    per_clock = _per_clock(rates, clocks)
    usual = usual_limits(loaded, powers)
    for name in sorted({node for node, _gpu in clocks}):
        yield from _against(gate, name, per_clock, models, _RATE)
        blank = GateResult(gate.name, name, Outcome.PASS, "")
        yield from by_power_limit(blank, loaded, usual, tuple(_against(gate, name, clocks, powers, _CLOCK)))


def _against(
    gate: Gate[Any], node: str, values: Mapping[Key, float], models: Mapping[str, Hashable], figure: _Figure
) -> Iterator[GateResult]:
    """A node's GPUs against each other, and against all of their model in the run."""
    own = {key: value for key, value in values.items() if key[0] == node}
    beside = standings(own, dict.fromkeys(own, node), LEAST_GPUS)
    fleet = standings(values, {key: models[key[0]] for key in values})
    blank = GateResult(gate.name, node, Outcome.PASS, figure.rule, figure.metric, unit=figure.unit)
    low: list[GateResult] = []
    passing: dict[str, float] = {}
    for key, value in sorted(own.items()):
        outcome, standing = min(((s.outcome_at(figure.fail, figure.warn), s) for s in (beside[key], fleet[key])), key=lambda o: _RANK[o[0]])
        if outcome is not Outcome.PASS:
            bad = replace(
                blank, outcome=outcome, device=key[1], value=value, reason=GateReason.BELOW_PEERS, detail=standing.text(figure.unit)
            )
            low.append(replace(bad, expected="as its peers", found=f"{limit_text(value)} {figure.unit}"))
        else:
            passing[key[1]] = value
    yield from low
    if not low and all(standing.peers < standing.least for key in own for standing in (beside[key], fleet[key])):
        yield replace(blank, outcome=Outcome.NOT_APPLICABLE, detail=f"too few to compare: {counted(len(own), 'GPU')}")
    elif passing:
        yield passing_devices(blank, passing, beside_bad=bool(low))
