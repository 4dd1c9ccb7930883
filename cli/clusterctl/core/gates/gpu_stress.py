"""gpu_stress: every GPU of a node multiplies matrices at once, for minutes, while clocks, power and temperatures are traced."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from clusterctl.core.gates.gate import Gate, Scope
from clusterctl.core.gates.judging.gpu_load import CLOCK_SETTING, POWER_BRAKE, judge_load, load_figures
from clusterctl.core.gates.judging.gpu_trace import SLOW_QUERY_S
from clusterctl.core.gates.judging.missing_evidence import with_hint
from clusterctl.core.gates.judging.own_history import with_better
from clusterctl.core.gates.judging.peers import by_peers
from clusterctl.core.gates.judging.reading import cut_short, not_run, read_record
from clusterctl.core.gates.judging.two_of_two import is_low_figure, needs_repeat, of_device, two_of_two
from clusterctl.core.gates.planning.step import AGAIN, TRACE, GateStep, GateSteps, Side
from clusterctl.core.gates.settings import GateSettings, Seconds, at_level
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.level import Level  # noqa: TC001 pydantic evaluates the annotations
from clusterctl_tools import nvidia_smi, ubergemm
from clusterctl_validators.finding import GOOD

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from clusterctl.core.gates.judging.evidence import Evidence
    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import GateResult, RawRecord
    from clusterctl_tools.gpu import GpuUnderLoad

_REPEATED = f"{AGAIN}."
_COOLING = "compare fans, inlet temperature and power supplies in the BMC (`clusterctl bmc {node} --only sensors`), the power limit of {gpu} and its cold plate or heat sink"
# By rule.
_ACTIONS = {
    "slowdown": _COOLING,
    "clock": _COOLING,
    "margin": _COOLING,
    "rate": "its clock does not explain it: run {gpu} in another slot where the chassis allows it; if the fault stays with {gpu}, replace it",
    "floor": "see the rules power_limit, clock and rate of the same node: a low clock is the power limit or cooling, a low rate per clock is {gpu} itself",
    "query": "look for XIDs of {gpu} in the kernel log: a GPU that answers slowly often falls off the bus later; reboot the node",
}
_LIMIT = (
    "set the power limit of {gpu} back on {node} (`{command}`); if it is low again, see that no job and no nvidia_driver_power_limit_w sets it, and reboot the node; "
    "if it is low after that, too, it is capped from outside: check power supplies, power shelf and cables, and what the BMC allows (`clusterctl bmc {node}`)"
)
_POWER = "check power supplies, power shelf and cables of {node} (`clusterctl bmc {node}`); {gpu} is not at fault"
_CLOCKS = "compare its clock settings with an equal node: `nvidia-smi -rgc`, `-rmc` and `-rac` take back what `-lgc`, `-lmc` and `-ac` set"
# By metric, where the rule does not determine it.
_BY_METRIC = {POWER_BRAKE: _POWER, CLOCK_SETTING: _CLOCKS}
_LOST = "{gpu} is gone: read the XIDs in the kernel log, power-cycle the node (`clusterctl power cycle {node}`); if it is lost again, replace it"


class GpuStressSettings(GateSettings):
    """ubergemm on every GPU.

    Attributes:
        program: of DCGM; its path differs between versions.
        duration_s: of the load. 900 s is Azure's thermal test (skills/slurm/thermal_stress_test); most faults show under sustained load only.
        repeat_s: of the second load of a node whose figures are too low in the first; None = a third of `duration_s`. Assumed: the clock settles in the first minutes.
        start_s: the trace goes on for so much longer, because the program searches for its fastest kernel before it counts the time. Assumed.
        trace_s: between two samples of clocks, power and temperatures.
        timeout_s: for start and end, on top of `duration_s` and `start_s`.
    """

    program: Annotated[str, Field(min_length=1)] = ubergemm.PROGRAM
    duration_s: Seconds | dict[Level, Seconds] = {"quick": 60, "standard": 900, "full": 7200}
    repeat_s: Seconds | dict[Level, Seconds] | None = None
    start_s: Seconds = 30
    trace_s: Annotated[float, Field(gt=0, le=60)] = 5.0
    timeout_s: Seconds | dict[Level, Seconds] = 300

    def repeat_at(self, level: Level) -> int:
        """Seconds of the second load."""
        return ceil(at_level(self.duration_s, level) / 3) if self.repeat_s is None else at_level(self.repeat_s, level)


@dataclass(frozen=True, slots=True)
class _Measured:
    """One measurement of each node, judged: `rates` of each GPU in TFLOPS, `traces` of each node."""

    evidence: Evidence
    results: tuple[GateResult, ...]
    rates: Mapping[tuple[str, str], float]
    traces: Mapping[str, RawRecord]

    def of(self, node: str) -> tuple[GateResult, ...]:
        """The results of a node; what reaches its floor and is below equal nodes fails."""
        compared = zip(self.results, by_peers(self.results, self.evidence), strict=True)
        return tuple(low if is_low_figure(low) else r for r, low in compared if r.node == node)

    def figures(self, gate: GpuStress, node: str) -> dict[tuple[str, str], str]:
        """The figures of a node, for people."""
        return load_figures(gate, self.evidence.subjects[node], self.rates, self.traces.get(node), gate.read_load)


class GpuStress(Gate[GpuStressSettings]):
    """Passes when no GPU is held back by heat or power, and each has the power limit, the rate and the clock of its peers, and reaches its floor where one is declared."""

    name = "gpu_stress"
    scope: ClassVar[Scope] = Scope.NODE
    settings_model = GpuStressSettings
    tool = "ubergemm"
    units: ClassVar[Mapping[str, str]] = {"gemm": "TFLOPS"}
    installed_by = "gpu_tools"
    default_levels: ClassVar[tuple[Level, ...]] = ("standard", "full")
    # Good GPUs of some models differ by 9 %, so not every model has a floor; peers and the clock decide without one, too.
    needs_floor = False

    def version_argv(self, settings: GpuStressSettings) -> tuple[str, ...]:  # noqa: ARG002 the same everywhere
        """Of DCGM."""
        return ubergemm.VERSION

    def plan(self, subjects: Sequence[Subject], level: Level, batches: Iterator[int]) -> GateSteps:
        """One step for each GPU and one for the trace, on all nodes at the same time."""
        batch = next(batches)
        times = {s.name: at_level(s.profile.settings_of(self).duration_s, level) for s in subjects}
        return GateSteps({s.name: tuple(self._steps(s, level, batch, times[s.name])) for s in subjects})

    def plan_again(self, subjects: Sequence[Subject], evidence: Evidence, batches: Iterator[int]) -> GateSteps:
        """All GPUs of a node once more, for a shorter time, where figures and nothing else fail, or a GPU is far below its own earlier runs."""
        results = tuple(by_peers(self.judge(evidence), evidence))
        taking = [s for s in subjects if needs_repeat([r for r in results if r.node == s.name], evidence.usual)]
        batch = next(batches) if taking else 0
        steps = {s.name: self._steps(s, evidence.level, batch, s.profile.settings_of(self).repeat_at(evidence.level)) for s in taking}
        return GateSteps({name: tuple(replace(step, name=_REPEATED + step.name) for step in own) for name, own in steps.items()})

    def _steps(self, subject: Subject, level: Level, batch: int, seconds: int) -> Iterator[GateStep]:
        settings = subject.profile.settings_of(self)
        blank = GateStep(
            gate=self.name,
            name=TRACE,
            tool=self.tool,
            side=Side.SOLO,
            argv=("sleep", str(seconds + settings.start_s)),
            timeout_s=seconds + settings.start_s + at_level(settings.timeout_s, level),
            batch=batch,
            version_argv=self.version_argv(settings),
            exclusive=True,
            shares_with=self.shares_with(subject),
        )
        alone = tuple((f"gpu{gpu}", tuple(nvidia_smi.load_argv(gpu))) for gpu in range(subject.gpus))
        traced = replace(blank, trace_argv=tuple(nvidia_smi.load_argv()), trace_s=settings.trace_s)
        yield replace(traced, trace_alone=alone, trace_slow_s=SLOW_QUERY_S)
        for gpu in range(subject.gpus):
            yield replace(blank, name=f"gpu{gpu}", argv=self.load_argv(settings, gpu, seconds), device=f"gpu{gpu}")

    def load_argv(self, settings: GpuStressSettings, gpu: int, seconds: int) -> tuple[str, ...]:
        """The command that loads one GPU for so long."""
        return tuple(ubergemm.load_argv(gpu, seconds, settings.program))

    def read_load(self, text: str) -> Sequence[GpuUnderLoad]:
        """The GPUs in one sample of a trace.

        Raises:
            UnreadableGpuError: it is not an answer of the tool.
        """
        return nvidia_smi.parse_load(text)

    def requested_s(self, argv: Sequence[str]) -> float:
        """How long a command of `load_argv` was to run."""
        return ubergemm.requested_s(argv)

    def judge(self, evidence: Evidence) -> tuple[GateResult, ...]:
        """Each node's records, and its GPUs among all of the run; a node that was repeated by both measurements, its second one among the first ones of the others."""
        repeats = [replace(r, step=r.step.removeprefix(_REPEATED)) for r in evidence.records if r.step.startswith(_REPEATED)]
        once = replace(evidence, records=[r for r in evidence.records if not r.step.startswith(_REPEATED)])
        first, again = self._measured(once), {r.node for r in repeats}
        if not again:
            return first.results
        second = self._measured(_among(once, repeats, again))
        # A repeat that is not evidence must not take peers from the others.
        ended = {r.node for r in second.results if r.node in again and r.outcome not in GOOD and not is_low_figure(r)}
        third = self._measured(_among(once, repeats, again - ended)) if ended and ended != again else second
        results = [r for r in first.results if r.node not in again]
        for name in sorted(again):
            pair = (first, second if name in ended else third)
            at_first, repeated = (one.figures(self, name) for one in pair)
            both = two_of_two(pair[0].of(name), pair[1].of(name), at_first=at_first, repeated=repeated, place_of=of_device)
            results += with_better(both, pair[1].of(name))
        return tuple(results)

    def _measured(self, evidence: Evidence) -> _Measured:
        """What one measurement of each node shows."""
        results: list[GateResult] = []
        rates: dict[tuple[str, str], float] = {}
        traces: dict[str, RawRecord] = {}
        for name in evidence.subjects:
            own = [r for r in evidence.records if r.node == name]
            broken = {r.step: result for r in own if (result := self._broken(r)) is not None}
            loads = [r for r in own if r.step != TRACE]
            if (TRACE in broken or all(r.step in broken for r in loads)) and broken:
                # What every step met is an obstacle of the node, not of a GPU.
                alike = {(r.reason, r.detail): replace(r, device="") for r in broken.values()}
                results += alike.values() if len(alike) == 1 else broken.values()
                continue
            results += broken.values()
            rates |= {(name, r.device): self.samples(self.output_of(r))[0].value for r in loads if r.step not in broken}
            traces |= {r.node: r for r in own if r.step == TRACE}
        results += judge_load(self, evidence, rates, traces, self.read_load)
        simulated = {r.node for r in evidence.records if r.simulated}
        judged = {s.name for s in evidence.judged}
        hinted = (with_hint(self, replace(r, simulated=r.node in simulated)) for r in results if r.node in judged)
        return _Measured(evidence, tuple(hinted), rates, traces)

    def _broken(self, record: RawRecord) -> GateResult | None:
        """Why a record is not evidence; None where it is. That of the trace holds in its `trace` what counts."""
        if record.step == TRACE and not record.error and record.exit_status == 0:
            return None
        reading = read_record(self, record)
        if not reading.rule:
            reading = cut_short(record, self.requested_s(record.argv)) or reading
        return not_run(self, record, reading) if reading.rule or not reading.samples else None

    def hint(self, result: GateResult) -> str:
        """By the rule: heat and power are of the chassis, the rate per clock is of the GPU."""
        # What is below its own history is the rate, or the rate per clock.
        rule = "floor" if result.rule == "history" and result.metric in self.units else result.rule
        action = _BY_METRIC.get(result.metric) or _ACTIONS.get(rule, _ACTIONS["rate"])
        action = _LOST if result.reason is GateReason.DEVICE_LOST else action
        command = ""
        if result.reason is GateReason.POWER_LIMIT_LOW:
            action, command = _LIMIT, " ".join(nvidia_smi.power_argv(int(result.device.removeprefix("gpu")), result.limit or 0))
        text = f"{action}, then `clusterctl burnin {result.node} {self.options}`"
        return text.format(node=result.node, gpu=result.device or "the GPU", command=command)

    def usual_s(self, settings: GpuStressSettings, level: Level) -> float:
        """The load and its start; a repeat comes on top."""
        return float(at_level(settings.duration_s, level) + settings.start_s)

    def not_proven(self, settings: GpuStressSettings, level: Level) -> str:
        """Faults show later, too."""
        return (
            f"what shows after more than {at_level(settings.duration_s, level)} s of load, and wrong results: rates and clocks are judged"
        )


def _among(once: Evidence, repeats: Sequence[RawRecord], nodes: Collection[str]) -> Evidence:
    """The repeats of some nodes among the first measurements of all others."""
    return replace(once, records=[*(r for r in once.records if r.node not in nodes), *(r for r in repeats if r.node in nodes)])


GATE = GpuStress()
