"""gpu_stress: every GPU of a node multiplies matrices at once, for minutes, while clocks, power and temperatures are traced."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from clusterctl.core.gates.gate import Gate, Scope
from clusterctl.core.gates.judging.gpu_load import POWER_BRAKE, judge_load
from clusterctl.core.gates.judging.missing_evidence import with_hint
from clusterctl.core.gates.judging.reading import cut_short, not_run, read_record
from clusterctl.core.gates.planning.step import GateStep, GateSteps, Side
from clusterctl.core.gates.settings import GateSettings, Seconds, at_level
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.level import Level  # noqa: TC001 pydantic evaluates the annotations
from clusterctl_tools import nvidia_smi, ubergemm

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clusterctl.core.gates.judging.evidence import Evidence
    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import GateResult, RawRecord

_TRACE = "trace"
_COOLING = "compare fans, inlet temperature and power supplies in the BMC (`clusterctl bmc {node} sensors`), the power limit of {gpu} and its cold plate or heat sink"
# By rule.
_ACTIONS = {
    "slowdown": _COOLING,
    "clock": _COOLING,
    "rate": "its clock does not explain it: run {gpu} in another slot where the chassis allows it; if the fault stays with {gpu}, replace it",
    "floor": "see the rules clock and rate of the same node: a low clock is cooling or the power limit, a low rate per clock is {gpu} itself",
    "query": "look for XIDs in the kernel log: a GPU that answers slowly often falls off the bus later; reboot the node",
}
_POWER = "check power supplies, power shelf and cables of {node} (`clusterctl bmc {node}`); {gpu} is not at fault"
_LOST = "a GPU is gone: read the XIDs in the kernel log, power-cycle the node (`clusterctl power cycle {node}`); if it is lost again, replace it"


class GpuStressSettings(GateSettings):
    """ubergemm on every GPU.

    Attributes:
        program: of DCGM; its path differs between versions.
        duration_s: of the load. 900 s is Azure's thermal test (skills/slurm/thermal_stress_test); most faults show under sustained load only.
        start_s: the trace goes on for so much longer, because the program searches for its fastest kernel before it counts the time. Assumed.
        trace_s: between two samples of clocks, power and temperatures.
        timeout_s: for start and end, on top of `duration_s` and `start_s`.
    """

    program: Annotated[str, Field(min_length=1)] = ubergemm.PROGRAM
    duration_s: Seconds | dict[Level, Seconds] = {"quick": 60, "standard": 900, "full": 7200}
    start_s: Seconds = 30
    trace_s: Annotated[float, Field(gt=0, le=60)] = 5.0
    timeout_s: Seconds | dict[Level, Seconds] = 300


class GpuStress(Gate[GpuStressSettings]):
    """Passes when no GPU is held back by heat or power, and each has the rate and the clock of its peers, and reaches its floor where one is declared."""

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
        return GateSteps({s.name: tuple(self._steps(s, level, batch)) for s in subjects})

    def _steps(self, subject: Subject, level: Level, batch: int) -> Iterator[GateStep]:
        settings = subject.profile.settings_of(self)
        seconds = at_level(settings.duration_s, level)
        blank = GateStep(
            gate=self.name,
            name=_TRACE,
            tool=self.tool,
            side=Side.SOLO,
            argv=("sleep", str(seconds + settings.start_s)),
            timeout_s=seconds + settings.start_s + at_level(settings.timeout_s, level),
            batch=batch,
            version_argv=self.version_argv(settings),
            exclusive=True,
            shares_with=self.shares_with(subject),
        )
        yield replace(blank, trace_argv=tuple(nvidia_smi.load_argv()), trace_s=settings.trace_s)
        for gpu in range(subject.gpus):
            yield replace(blank, name=f"gpu{gpu}", argv=self.load_argv(settings, gpu, seconds), device=f"gpu{gpu}")

    def load_argv(self, settings: GpuStressSettings, gpu: int, seconds: int) -> tuple[str, ...]:
        """The command that loads one GPU for so long."""
        return tuple(ubergemm.load_argv(gpu, seconds, settings.program))

    def asked_s(self, argv: Sequence[str]) -> float:
        """How long a command of `load_argv` was to run."""
        return ubergemm.asked_s(argv)

    def judge(self, evidence: Evidence) -> tuple[GateResult, ...]:
        """Each node's records, and its GPUs among all of the run."""
        results: list[GateResult] = []
        rates: dict[tuple[str, str], float] = {}
        traces: dict[str, RawRecord] = {}
        for name in evidence.subjects:
            own = [r for r in evidence.records if r.node == name]
            broken = {r.step: result for r in own if (result := self._broken(r)) is not None}
            loads = [r for r in own if r.step != _TRACE]
            if (_TRACE in broken or all(r.step in broken for r in loads)) and broken:
                # What every step met is an obstacle of the node, not of a GPU.
                alike = {(r.reason, r.detail): replace(r, device="") for r in broken.values()}
                results += alike.values() if len(alike) == 1 else broken.values()
                continue
            results += broken.values()
            rates |= {(name, r.device): self.samples(self.output_of(r))[0].value for r in loads if r.step not in broken}
            traces |= {r.node: r for r in own if r.step == _TRACE}
        results += judge_load(self, evidence, rates, traces, nvidia_smi.parse_load)
        simulated = {r.node for r in evidence.records if r.simulated}
        judged = {s.name for s in evidence.judged}
        return tuple(with_hint(self, replace(r, simulated=r.node in simulated)) for r in results if r.node in judged)

    def _broken(self, record: RawRecord) -> GateResult | None:
        """Why a record is no evidence; None where it is. That of the trace holds in its `trace` what counts."""
        if record.step == _TRACE and not record.error and record.exit_status == 0:
            return None
        reading = read_record(self, record)
        if not reading.rule:
            reading = cut_short(record, self.asked_s(record.argv)) or reading
        return not_run(self, record, reading) if reading.rule or not reading.samples else None

    def hint(self, result: GateResult) -> str:
        """By the rule: heat and power are of the chassis, the rate per clock is of the GPU."""
        action = _POWER if result.metric == POWER_BRAKE else _ACTIONS.get(result.rule, _ACTIONS["rate"])
        action = _LOST if result.reason is GateReason.DEVICE_LOST else action
        return f"{action}, then `clusterctl burnin {result.node} --gates {self.name}`".format(
            node=result.node, gpu=result.device or "the GPU"
        )


GATE = GpuStress()
