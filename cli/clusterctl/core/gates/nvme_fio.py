"""nvme_fio: all NVMe data disks of a node are read at once with fio, and each has the bandwidth of equal disks. Nothing is written to them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from clusterctl.core.gates.judging.disk_rates import judge_rates
from clusterctl.core.gates.judging.disk_reads import BANDWIDTH, read_disks
from clusterctl.core.gates.judging.limits import compare_with_limits, floors, limit_text
from clusterctl.core.gates.judging.missing_evidence import with_hint
from clusterctl.core.gates.judging.own_history import with_better
from clusterctl.core.gates.judging.reading import cut_short, not_run, read_record
from clusterctl.core.gates.judging.two_of_three import JudgedRun, two_of_three
from clusterctl.core.gates.judging.two_of_two import needs_repeat
from clusterctl.core.gates.node_gate import NodeGate
from clusterctl.core.gates.planning.devices import nvme_disks_of
from clusterctl.core.gates.planning.step import AGAIN, GateSteps
from clusterctl.core.gates.settings import GateSettings, Seconds, at_level
from clusterctl.core.parsers import UnparsableError
from clusterctl.core.parsers.nvme_read import read_output
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome
from clusterctl.model.level import Level  # noqa: TC001 pydantic evaluates the annotations
from clusterctl_tools import nvme_read

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    from clusterctl.core.gates.judging.evidence import Evidence
    from clusterctl.core.gates.planning.step import GateStep
    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import RawRecord, Sample

_UNIT = "GB/s"
_REPEATS = (f"{AGAIN}.1", f"{AGAIN}.2")
_SLOW = (
    "nothing else may use {disk} (`cat /proc/mdstat`, `lsof`); compare its PCIe link (`lspci -vv`), temperature and wear (`nvme smart-log`) with an equal disk; "
    "reseat it, and if it stays slow, replace it"
)
_FAILED = "{disk} returns errors: read the kernel log and `nvme smart-log /dev/{disk}`, save its data and replace it"
_INSTALL = "add the package of fio to gpu_tools_packages (docs/reference/gates.md), then `clusterctl provision {node}`"
_SILENT = "a disk does not answer: look for its timeouts in the kernel log, then `clusterctl burnin {node} --level full --gates nvme_fio`"
_MISSING = "compare `lsblk` and the kernel log with hardware_nvme_data_disks, then `clusterctl burnin {node} --level full --gates nvme_fio`"


class NvmeFioSettings(GateSettings):
    """fio on every NVMe data disk at once: reads of 1 MiB in sequence, 32 at a time, past the page cache.

    Attributes:
        program: fio of the site's package.
        ioengine: how fio reads; some distributions have engines in packages of their own.
        duration_s: of each measurement. Assumed: no public source states how long a disk must be read.
        timeout_s: for start and end, on top of `duration_s`.
    """

    program: Annotated[str, Field(min_length=1)] = "fio"
    ioengine: Literal["libaio", "io_uring"] = "libaio"
    duration_s: Seconds | dict[Level, Seconds] = {"quick": 15, "standard": 30, "full": 60}
    timeout_s: Seconds | dict[Level, Seconds] = 300


@dataclass(frozen=True, slots=True)
class _Run:
    """One measurement of a node: what is wrong with it, and the samples of the disks that were read; `kinds`: model and version of fio."""

    record: RawRecord
    problems: tuple[GateResult, ...]
    samples: tuple[Sample, ...] = ()
    kinds: Mapping[str, Hashable] = field(default_factory=dict)

    @property
    def rates(self) -> dict[tuple[str, str], float]:
        """GB/s by node and disk."""
        return {(self.record.node, s.device): s.value for s in self.samples if s.metric == BANDWIDTH}


class NvmeFio(NodeGate[NvmeFioSettings]):
    """Passes when every declared disk is there and was read without an error, none is slower than equal disks, and each reaches its floor where one is declared."""

    name = "nvme_fio"
    settings_model = NvmeFioSettings
    tool = "nvme_read"
    default_levels = ("full",)
    installed_by = "gpu_tools"
    units: ClassVar[Mapping[str, str]] = {BANDWIDTH: _UNIT}
    # Equal disks decide without one.
    needs_floor = False
    actions: ClassVar[Mapping[GateReason, str]] = {
        GateReason.NOT_INSTALLED: _INSTALL,
        GateReason.TIMED_OUT: _SILENT,
        GateReason.INCOMPLETE: _MISSING,
    }

    def version_argv(self, settings: NvmeFioSettings) -> tuple[str, ...]:
        """Of fio."""
        return (settings.program, "--version")

    def argv(self, settings: NvmeFioSettings, level: Level, subject: Subject) -> tuple[str, ...]:  # noqa: ARG002 the node finds its disks
        """One run for all disks."""
        return tuple(nvme_read.read_argv(at_level(settings.duration_s, level), program=settings.program, ioengine=settings.ioengine))

    def plan(self, subjects: Sequence[Subject], level: Level, batches: Iterator[int]) -> GateSteps:
        """One step on each node, all at the same time."""
        batch = next(batches)
        return GateSteps({s.name: (self._timed(s, level, batch, "solo"),) for s in subjects})

    def plan_again(self, subjects: Sequence[Subject], evidence: Evidence, batches: Iterator[int]) -> GateSteps:
        """Twice more, where figures and nothing else fail, or a disk is far below its own earlier runs."""
        results = self.judge(evidence)
        taking = [s for s in subjects if needs_repeat([r for r in results if r.node == s.name], evidence.usual)]
        numbers = [next(batches) for _ in _REPEATS] if taking else []
        return GateSteps(
            {s.name: tuple(self._timed(s, evidence.level, n, name) for n, name in zip(numbers, _REPEATS, strict=True)) for s in taking}
        )

    def judge(self, evidence: Evidence) -> tuple[GateResult, ...]:
        """Each node by all its measurements, every one of them among the first ones of the other nodes."""
        runs = {(r.node, r.step): self._run(evidence.subjects[r.node], r) for r in evidence.records}
        once = {node: run for (node, step), run in runs.items() if step not in _REPEATS}
        results: list[GateResult] = []
        for subject in evidence.judged:
            taken = [once[subject.name]] if subject.name in once else []
            taken += [runs[subject.name, step] for step in _REPEATS if taken and (subject.name, step) in runs]
            measured = [self._measurement(subject, run, {**once, subject.name: run}) for run in taken]
            own = list(two_of_three(measured) if len(measured) > 1 else [r for m in measured for r in m.results])
            for again in measured[1:]:
                own = list(with_better(own, again.results))
            results += own
        return tuple(with_hint(self, r) for r in results)

    def failure_reason(self, record: RawRecord) -> GateReason:
        """NOT_INSTALLED where there is no fio."""
        return GateReason.NOT_INSTALLED if record.exit_status == nvme_read.NO_FIO else GateReason.EXIT_STATUS

    def last_line(self, record: RawRecord) -> str:
        """What ended it, without the JSON around it."""
        try:
            return nvme_read.read_run(record.stdout).problem or super().last_line(record)
        except ValueError:
            return super().last_line(record)

    def hint(self, result: GateResult) -> str:
        """By what was found."""
        action = _FAILED if result.reason is GateReason.TEST_FAILED else _SLOW
        return f"{action.format(disk=result.device or 'each disk')}; then `clusterctl burnin {result.node} {self.options}`"

    def _timed(self, subject: Subject, level: Level, batch: int, name: str) -> GateStep:
        step = self._step(subject, level, batch)
        seconds = at_level(subject.profile.settings_of(self).duration_s, level)
        return replace(step, name=name, timeout_s=step.timeout_s + seconds + nvme_read.END_S)

    def _run(self, subject: Subject, record: RawRecord) -> _Run:
        planned_s = nvme_read.requested_s(record.argv)
        reading = read_record(self, record)
        try:
            output = read_output(self.output_of(record))
        except UnparsableError:
            return _Run(record, (not_run(self, record, reading),))
        early = cut_short(record, planned_s)
        if record.error or record.exit_status or early:
            return _Run(record, (not_run(self, record, early if early and not reading.rule else reading),))
        problems, samples = read_disks(record, output, nvme_disks_of(subject.node), planned_s)
        hinted = tuple(with_hint(self, p) for p in problems)
        return _Run(record, hinted, samples, {s.device: (s.detail, record.tool_version) for s in samples})

    def _measurement(self, subject: Subject, run: _Run, among: Mapping[str, _Run]) -> JudgedRun:
        """Its results, with its disks among those of all runs of `among`."""
        results = list(run.problems)
        if run.samples:
            limits = self.limits_of(subject, 1)
            judged = compare_with_limits(self.name, subject.name, run.samples, limits, nodes=1)
            # The value of a pass is that among equal disks: nodes with equal GPUs may have other ones.
            results += [
                replace(r, value=None, by_device=()) if r.outcome is Outcome.PASS else r
                for r in judged
                if r.reason is not GateReason.NO_BASELINE
            ]
            blank = GateResult(self.name, subject.name, Outcome.PASS, "peers", BANDWIDTH, unit=_UNIT)
            rates = {key: rate for one in among.values() for key, rate in one.rates.items()}
            kinds = {(name, disk): kind for name, one in among.items() for disk, kind in one.kinds.items()}
            results += judge_rates(blank, rates, kinds, floored=bool(floors(limits)))
            results += self.not_limited(subject, run.samples, limits)
        own = [replace(r, simulated=run.record.simulated, tool_version=run.record.tool_version) for r in results]
        return JudgedRun(own, {(BANDWIDTH, disk): f"{limit_text(rate)} {_UNIT}" for (_, disk), rate in run.rates.items()})

    def usual_s(self, settings: NvmeFioSettings, level: Level) -> float:
        """Three measurements."""
        return 3.0 * at_level(settings.duration_s, level) + 30

    def not_proven(self, settings: NvmeFioSettings, level: Level) -> str:  # noqa: ARG002 the same at all levels and settings
        """It reads only."""
        return "writes, latency, and that data is right: it only reads"


GATE = NvmeFio()
