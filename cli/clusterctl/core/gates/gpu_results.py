"""gpu_results: every GPU of a node computes the same results again and again, and each must be equal to the first: silent corruption."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import AfterValidator, Field

from clusterctl.core.gates.gate import Gate, Scope
from clusterctl.core.gates.judging.missing_evidence import with_hint
from clusterctl.core.gates.judging.reading import Reading, cut_short, not_run, read_record
from clusterctl.core.gates.planning.step import GateStep, GateSteps, Side
from clusterctl.core.gates.settings import GateSettings, Seconds, at_level
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome
from clusterctl.model.level import Level  # noqa: TC001 pydantic evaluates the annotations
from clusterctl_tools import gpu_burn

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clusterctl.core.gates.judging.evidence import Evidence
    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import RawRecord

_METRIC = "results"
_SOURCE = "compare.cu of wilicc/gpu-burn: elements that differ from the first result by more than 0.001"
# The first result is what the others are compared with.
_LEAST_COMPARED = 2
_WRONG = "{gpu} computes wrong results without an error: take the node out, run the vendor's diagnostic (`dcgmi diag -r 4`, EUD) on {gpu} and replace it"
_ALL_WRONG = "gpu_burn reports wrong results on all GPUs of the node: first compare driver, CUDA libraries and gpu_burn with another node; then see each GPU"
_DIED = "{gpu} worked and then ended with an error: read the XIDs in the kernel log, reset {gpu} or reboot the node; if it happens again, replace it"


def _plain_path(path: str) -> str:
    option = gpu_burn.misread(path)
    if option:
        raise ValueError(f"gpu_burn takes a path with {option!r} inside for that option: install it in another folder")
    return path


class GpuResultsSettings(GateSettings):
    """gpu_burn on every GPU.

    Attributes:
        program: of the site's package.
        compare: the compiled comparison that belongs to it.
        memory_percent: of the free memory of a GPU that is filled with results; what is left out is not written.
        duration_s: of the load. Assumed: no public source states how long a GPU that corrupts now and then must run.
        end_s: the program waits so long for its end, always.
        timeout_s: for the start, on top of `duration_s` and `end_s`.
    """

    program: Annotated[str, Field(min_length=1)] = gpu_burn.PROGRAM
    compare: Annotated[str, Field(min_length=1), AfterValidator(_plain_path)] = gpu_burn.COMPARE
    memory_percent: Annotated[int, Field(ge=1, le=95)] = 90
    duration_s: Seconds | dict[Level, Seconds] = {"quick": 60, "standard": 300, "full": 3600}
    end_s: Seconds = gpu_burn.END_S
    timeout_s: Seconds | dict[Level, Seconds] = 300


class GpuResults(Gate[GpuResultsSettings]):
    """Passes when each GPU computed for its time, compared what it computed, and all of it was equal."""

    name = "gpu_results"
    scope: ClassVar[Scope] = Scope.NODE
    settings_model = GpuResultsSettings
    tool = "gpu_burn"
    installed_by = "gpu_tools"
    default_levels = ("standard", "full")
    # The tool itself decides.
    needs_floor = False

    def version_argv(self, settings: GpuResultsSettings) -> tuple[str, ...]:
        """Its help: it has no version."""
        return (settings.program, gpu_burn.VERSION_OPTION)

    def plan(self, subjects: Sequence[Subject], level: Level, batches: Iterator[int]) -> GateSteps:
        """One step for each GPU, on all GPUs and nodes at the same time."""
        batch = next(batches)
        return GateSteps({s.name: tuple(self._steps(s, level, batch)) for s in subjects})

    def _steps(self, subject: Subject, level: Level, batch: int) -> Iterator[GateStep]:
        settings = subject.profile.settings_of(self)
        seconds = at_level(settings.duration_s, level)
        for gpu in range(subject.gpus):
            argv = gpu_burn.burn_argv(
                gpu,
                seconds,
                memory_percent=settings.memory_percent,
                end_s=settings.end_s,
                program=settings.program,
                compare=settings.compare,
            )
            yield GateStep(
                gate=self.name,
                name=f"gpu{gpu}",
                tool=self.tool,
                side=Side.SOLO,
                argv=tuple(argv),
                timeout_s=seconds + settings.end_s + at_level(settings.timeout_s, level),
                batch=batch,
                version_argv=self.version_argv(settings),
                device=f"gpu{gpu}",
                exclusive=True,
                shares_with=self.shares_with(subject),
            )

    def judge(self, evidence: Evidence) -> tuple[GateResult, ...]:
        """Each GPU by its own record; what all of a node met alike is an obstacle of the node."""
        results: list[GateResult] = []
        for subject in evidence.judged:
            own = {r.device: r for r in evidence.records if r.node == subject.name}
            if not own:
                continue
            found = [self._result(record) for record in own.values()]
            missing = [f"gpu{i}" for i in range(subject.gpus) if f"gpu{i}" not in own]
            found += [_not_burned(subject.name, device) for device in missing]
            results += _once(found)
        return tuple(with_hint(self, r) for r in results)

    def _result(self, record: RawRecord) -> GateResult:
        burned = _burned(record)
        if burned and burned.began and burned.cause:
            return _about(record, Outcome.FAIL, GateReason.TEST_FAILED, burned.cause, "died")
        reading = read_record(self, record)
        if reading.rule or burned is None:
            return not_run(self, record, reading)
        gpu = burned.gpus[0]
        if gpu.faulty or gpu.errors:
            # The counter wraps: its sign and size mean nothing.
            return _about(record, Outcome.FAIL, GateReason.WRONG_RESULTS, "results of one multiplication differ", "FAULTY")
        unproven = _unproven(record, burned)
        if unproven:
            return not_run(self, record, unproven)
        return _about(record, Outcome.PASS, None, f"{gpu.multiplications} equal results", "OK")

    def failure_reason(self, record: RawRecord) -> GateReason:
        """TOOL_FAILED where it printed why it could not begin."""
        burned = _burned(record)
        return GateReason.TOOL_FAILED if burned and burned.cause else GateReason.EXIT_STATUS

    def last_line(self, record: RawRecord) -> str:
        """The cause rather than `No clients are alive!`."""
        burned = _burned(record)
        return burned.cause if burned and burned.cause else super().last_line(record)

    def hint(self, result: GateResult) -> str:
        """By what happened to the GPU."""
        action = _DIED if result.reason is GateReason.TEST_FAILED else _WRONG if result.device else _ALL_WRONG
        return f"{action}; then `clusterctl burnin {result.node} --gates {self.name}`".format(gpu=result.device or "each GPU")

    def usual_s(self, settings: GpuResultsSettings, level: Level) -> float:
        """The load and its end."""
        return float(at_level(settings.duration_s, level) + settings.end_s)

    def not_proven(self, settings: GpuResultsSettings, level: Level) -> str:
        """How many corrupting GPUs it finds is not known."""
        return f"that a GPU never computes wrongly: {at_level(settings.duration_s, level)} s of one matrix product find an unknown share"


def _burned(record: RawRecord) -> gpu_burn.Burned | None:
    try:
        return gpu_burn.read_burn(record.stdout, record.stderr)
    except ValueError:
        return None


def _unproven(record: RawRecord, burned: gpu_burn.Burned) -> Reading | None:
    """Why an OK proves nothing; None where it does. gpu_burn also prints OK for a GPU that it never started (its issues 123 and 124)."""
    gpu = burned.gpus[0]
    if len(burned.gpus) != 1:
        return Reading((), "complete", GateReason.WRONG_RUN, f"it reports on {len(burned.gpus)} GPUs instead of one")
    if early := cut_short(record, gpu_burn.requested_s(record.argv)):
        return early
    if gpu.died or not gpu.multiplications or burned.at_once < _LEAST_COMPARED:
        detail = f"its verdict is OK, and it compared nothing: {gpu.multiplications} multiplications, {burned.at_once} results kept at once"
        return Reading((), "complete", GateReason.UNCHECKED_RESULTS, detail)
    return None


def _about(record: RawRecord, outcome: Outcome, reason: GateReason | None, detail: str, found: str) -> GateResult:
    return GateResult(
        gate=record.gate,
        node=record.node,
        outcome=outcome,
        rule=_METRIC,
        metric=_METRIC,
        expected="OK",
        found=found,
        device=record.device,
        source=_SOURCE,
        detail=detail,
        reason=reason,
        simulated=record.simulated,
    )


def _not_burned(node: str, device: str) -> GateResult:
    return GateResult(
        gate=GATE.name,
        node=node,
        outcome=Outcome.COULD_NOT_RUN,
        rule="complete",
        device=device,
        detail="there is no record of this GPU",
        reason=GateReason.INCOMPLETE,
    )


def _once(found: list[GateResult]) -> list[GateResult]:
    """One result for the node where all of its GPUs have the same, except that passes stay."""
    alike = {(r.outcome, r.reason, r.detail) for r in found}
    whole = len(found) > 1 and len(alike) == 1 and found[0].outcome is not Outcome.PASS
    return [replace(found[0], device="")] if whole else found


GATE = GpuResults()
