"""host_memory: stressapptest fills the free memory of a node and compares what it reads with what it wrote."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Self

from pydantic import Field, model_validator

from clusterctl.core.gates.judging.memory_run import memory_run, right_memory, unproven_memory, wrong_memory
from clusterctl.core.gates.judging.missing_evidence import with_hint
from clusterctl.core.gates.judging.reading import not_run, read_record
from clusterctl.core.gates.node_gate import NodeGate
from clusterctl.core.gates.planning.step import GateSteps
from clusterctl.core.gates.settings import GateSettings, Seconds, at_level
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.level import Level  # noqa: TC001 pydantic evaluates the annotations
from clusterctl_tools import host_memory
from clusterctl_tools.stressapptest import PROGRAM

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clusterctl.core.gates.judging.evidence import Evidence
    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import GateResult, RawRecord

_AGAIN = "then `clusterctl burnin {node} --level full --gates host_memory`"
_WRONG = (
    "replace the DIMM whose errors `load_errors` of this run or the event log of the BMC counts (`clusterctl bmc {node} --only log`); where none counts any, "
    f"compare memory speed and firmware with an equal node, and find it by taking out half of the DIMMs at a time; {_AGAIN}"
)
_ROOM = (
    "end what uses the memory (`free -m`, HugePages_Total in /proc/meminfo), or lower gates_settings.host_memory.least_percent; " + _AGAIN
)


class HostMemorySettings(GateSettings):
    """stressapptest on the free memory.

    Attributes:
        program: of the site's package.
        memory_percent: of the memory that is free or can be freed (MemAvailable), less 192 MiB; the rest is left to the system.
        least_percent: of the node's memory that must have been tested. Assumed: a node without jobs has more than this free.
        threads: that copy; None = one for each processor.
        duration_s: of the load. Assumed: no public source states how long a DIMM that errs now and then must be loaded.
        timeout_s: for filling the memory and for the last comparison, on top of `duration_s`. Assumed: eight threads fill it, at 0.7 GiB/s each or faster.
    """

    program: Annotated[str, Field(min_length=1)] = PROGRAM
    memory_percent: Annotated[int, Field(ge=1, le=95)] = 95
    least_percent: Annotated[int, Field(ge=1, le=95)] = 80
    threads: Annotated[int, Field(gt=0)] | None = None
    duration_s: Seconds | dict[Level, Seconds] = {"quick": 120, "standard": 300, "full": 1800}
    timeout_s: Seconds | dict[Level, Seconds] = 1800

    @model_validator(mode="after")
    def _can_be_reached(self) -> Self:
        if self.least_percent >= self.memory_percent:
            raise ValueError(f"least_percent {self.least_percent} cannot be reached with memory_percent {self.memory_percent}")
        return self


class HostMemory(NodeGate[HostMemorySettings]):
    """Passes when nearly all memory of the node was loaded for its time, each MiB was copied several times, and all was read as it was written."""

    name = "host_memory"
    settings_model = HostMemorySettings
    tool = "stressapptest"
    default_levels = ("full",)
    installed_by = "gpu_tools"
    # The tool itself decides.
    needs_floor = False
    actions: ClassVar[Mapping[GateReason, str]] = {
        GateReason.NOT_INSTALLED: "add stressapptest to gpu_tools_packages (docs/reference/gates.md), then `clusterctl provision {node}`",
        GateReason.NO_SPACE: _ROOM,
        GateReason.KILLED: f"read the kernel log: if memory ran out (`Out of memory`), lower gates_settings.host_memory.memory_percent; {_AGAIN}",
        GateReason.WRONG_RUN: f"see in the run directory what ended it early, or set a longer gates_settings.host_memory.duration_s; {_AGAIN}",
        GateReason.TIMED_OUT: f"filling took too long, or the node hangs: see its output and the kernel log, set a longer timeout_s; {_AGAIN}",
    }

    def version_argv(self, settings: HostMemorySettings) -> tuple[str, ...]:
        """Of stressapptest."""
        return tuple(host_memory.version_argv(settings.program))

    def argv(self, settings: HostMemorySettings, level: Level, subject: Subject) -> tuple[str, ...]:  # noqa: ARG002 the node finds its memory
        """One run on all free memory."""
        seconds, percent = at_level(settings.duration_s, level), settings.memory_percent
        return tuple(host_memory.load_argv(seconds, memory_percent=percent, threads=settings.threads, program=settings.program))

    def plan(self, subjects: Sequence[Subject], level: Level, batches: Iterator[int]) -> GateSteps:
        """One step on each node, all at the same time."""
        batch = next(batches)
        seconds = {s.name: at_level(s.profile.settings_of(self).duration_s, level) for s in subjects}
        steps = {s.name: self._step(s, level, batch) for s in subjects}
        return GateSteps({name: (replace(step, timeout_s=step.timeout_s + seconds[name]),) for name, step in steps.items()})

    def judge(self, evidence: Evidence) -> tuple[GateResult, ...]:
        """Each node by its own run."""
        judged = {s.name: s for s in evidence.judged}
        return tuple(with_hint(self, self._result(judged[r.node], r)) for r in evidence.records if r.node in judged)

    def failure_reason(self, record: RawRecord) -> GateReason:
        """By its exit status, and by the end of stressapptest."""
        if record.exit_status == host_memory.NO_STRESSAPPTEST:
            return GateReason.NOT_INSTALLED
        run = memory_run(record)
        if record.exit_status == host_memory.NO_ROOM or (run.stress and run.stress.unallocated):
            return GateReason.NO_SPACE
        if run.signal:
            return GateReason.KILLED
        return GateReason.TOOL_FAILED if run.ended_by else GateReason.EXIT_STATUS

    def last_line(self, record: RawRecord) -> str:
        """Why it did not start, or what ended it."""
        return memory_run(record).ended_by or super().last_line(record)

    def hint(self, result: GateResult) -> str:
        """One for all that was read wrongly: stressapptest does not name DIMMs."""
        return _WRONG.format(node=result.node)

    def _result(self, subject: Subject, record: RawRecord) -> GateResult:
        run = memory_run(record)
        found = wrong_memory(record, run)
        if found is None:
            reading = read_record(self, record)
            unproven = reading if reading.rule else unproven_memory(run, subject.profile.settings_of(self).least_percent)
            found = not_run(self, record, unproven) if unproven else right_memory(record, run)
        return replace(found, simulated=record.simulated, tool_version=record.tool_version)

    def usual_s(self, settings: HostMemorySettings, level: Level) -> float:
        """The load, and filling 2 TiB (assumed)."""
        return at_level(settings.duration_s, level) + 600.0

    def not_proven(self, settings: HostMemorySettings, level: Level) -> str:
        """Stressapptest loads what is free."""
        return f"memory that the system itself uses, and what shows after more than {at_level(settings.duration_s, level)} s"


GATE = HostMemory()
