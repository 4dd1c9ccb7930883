"""load_errors: what the load of the burn-in raised on a node, by snapshots of its error counters before the first gate and after the last."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from clusterctl.core.gates.error_actions import action_for_growth, action_for_one_alone
from clusterctl.core.gates.error_limits import DEFAULT_LIMITS, GrowthLimit, is_unknown_link_counter
from clusterctl.core.gates.gate import Gate, Scope
from clusterctl.core.gates.judging.error_growth import Allowed, Raised, raised_by_load
from clusterctl.core.gates.judging.errors_alone import alone
from clusterctl.core.gates.judging.limits import limit_text
from clusterctl.core.gates.judging.missing_evidence import hint_for
from clusterctl.core.gates.planning.devices import gpu_model_of
from clusterctl.core.gates.planning.step import GateStep, GateSteps, Side
from clusterctl.core.gates.settings import GateSettings, Seconds, at_level
from clusterctl.core.parsers.error_snapshot import read_error_snapshot
from clusterctl.core.parsers.unparsable import UnparsableError
from clusterctl.model.gate_reason import NOT_MEASURED, GateReason
from clusterctl.model.gate_result import GateResult, Outcome
from clusterctl.model.level import Level  # noqa: TC001 pydantic evaluates the annotations
from clusterctl_validators import adapter_errors, disk_errors
from clusterctl_validators.finding import GOOD

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from clusterctl.core.gates.judging.errors_alone import Alone, NodeCounts
    from clusterctl.core.gates.judging.evidence import Evidence
    from clusterctl.core.gates.subject import Subject
    from clusterctl.core.parsers.error_snapshot import ErrorSnapshot
    from clusterctl.model.gate_result import RawRecord

_BEFORE = "before"
_AFTER = "after."
_HINTS = {
    GateReason.REBOOTED: "find out why in the BMC's event log (`clusterctl bmc {node} --only log`) and the kernel log of the boot before, then burn in again",
    GateReason.DEVICE_LOST: "check the kernel log for the device; power-cycle the node, reseat or replace the part",
}


@dataclass(frozen=True, slots=True)
class _When:
    sign: str
    source: str
    detail: str


_UNDER_LOAD = _When("+", "equal devices under the same load", "")
_BEFORE_LOAD = _When("", "equal devices", "counted before the load, ")


class LoadErrorsSettings(GateSettings):
    """The allowed growth of error counters.

    Attributes:
        growth_max: counter -> allowed growth, in place of the default limit of that counter. Others have no limit; some of them are compared between equal devices.
            A node of which no device has such a counter could not run.
    """

    timeout_s: Seconds | dict[Level, Seconds] = 300
    growth_max: dict[str, Annotated[int, Field(ge=0)]] = {}

    def limits(self) -> Mapping[str, GrowthLimit]:
        """Counter -> limit."""
        return {**DEFAULT_LIMITS, **{name: GrowthLimit(growth, "profile") for name, growth in self.growth_max.items()}}


class LoadErrors(Gate[LoadErrorsSettings]):
    """Passes when no error counter grew above its limit, the kernel logged no error of a GPU, a disk or an adapter, and the node did not reboot while the other gates ran."""

    name = "load_errors"
    scope = Scope.BURN_IN
    settings_model = LoadErrorsSettings
    tool = "error_snapshot"
    always = True
    needs_floor = False

    def plan(self, subjects: Sequence[Subject], level: Level, batches: Iterator[int]) -> GateSteps:
        """The snapshot before the first gate."""
        batch = next(batches)
        return GateSteps({s.name: (self._step(s, level, _BEFORE, batch),) for s in subjects})

    def closing_steps(self, subjects: Sequence[Subject], level: Level, batches: Iterator[int], part: str) -> Mapping[str, GateStep]:
        """The snapshot after the last gate of a part of the burn-in."""
        batch = next(batches)
        return {s.name: self._step(s, level, _AFTER + part, batch) for s in subjects}

    def judge(self, evidence: Evidence) -> tuple[GateResult, ...]:
        """Each node by its own snapshots, the first one against the last; then what is below every limit against equal devices."""
        results: dict[str, tuple[GateResult, ...]] = {}
        growth: dict[str, NodeCounts] = {}
        before: dict[str, NodeCounts] = {}
        for subject in evidence.judged:
            own = [r for r in evidence.records if r.node == subject.name]
            if own:
                expected = {_BEFORE, *(_AFTER + part for part in evidence.parts_of(subject))}
                results[subject.name], growth[subject.name], before[subject.name] = self._of_node(subject, own, expected)
        classes = {name: gpu_model_of(evidence.subjects[name].node) for name in results}
        for one in alone(growth, classes):
            results[one.node] = _beside(results[one.node], self._alone(one, _UNDER_LOAD))
        for one in alone(before, classes):
            results[one.node] = _beside(results[one.node], self._alone(one, _BEFORE_LOAD))
        simulated = {r.node for r in evidence.records if r.simulated}
        return tuple(replace(r, simulated=r.node in simulated, hint=self._hint(r)) for own in results.values() for r in own)

    def _alone(self, one: Alone, when: _When) -> GateResult:
        amount, limit = one.counted
        return GateResult(
            self.name,
            one.node,
            Outcome.WARN,
            "peers",
            metric=one.counter,
            device=one.device,
            expected=f"<= {limit_text(one.most)}, as of almost all of its {one.equals - 1} equals",
            found=f"{when.sign}{limit_text(amount)}",
            source=when.source,
            detail=when.detail + ("below its limit, and alone" if limit else "alone"),
            reason=GateReason.ABOVE_PEERS,
            value=float(amount),
            unit="us" if one.counter.endswith("_us") else "count",
        )

    def _of_node(self, subject: Subject, records: Sequence[RawRecord], expected: set[str]) -> Raised:
        snapshots: dict[str, ErrorSnapshot] = {}
        # A node that failed on a lower rung of the group's ladder has no snapshot of the last one.
        taken = {name for r in records for name in (r.step, r.step.rpartition(".")[0])}
        absent = sorted(expected - taken)
        missing = [self._unread(subject, f"no snapshot {step!r}", GateReason.NO_EVIDENCE) for step in absent]
        for record in records:
            try:
                snapshots[record.step] = self._snapshot(record)
            except UnparsableError as e:
                reason = record.error_code or (GateReason.EXIT_STATUS if record.exit_status else GateReason.UNPARSABLE)
                missing.append(self._unread(subject, f"snapshot {record.step!r}: {e}", reason))
        before = snapshots.pop(_BEFORE, None)
        last = _last(before, snapshots.values())
        judged = subject.node.spec.roles.get("hardware", {})
        settings = subject.profile.settings_of(self)
        tolerated = frozenset(judged.get("hardware_xids_tolerated") or ())
        allowed = Allowed(settings.limits(), subject.gpu_vendor, tolerated, required=frozenset(settings.growth_max), declared=judged)
        raised = raised_by_load(self.name, subject.name, before, last, allowed) if before and last else Raised((), {}, {})
        # A node that failed is left out of the group, so a snapshot after it is not missed.
        if not missing or any(r.outcome not in GOOD for r in raised.results):
            return raised
        return Raised(tuple(missing), {}, {})

    def _snapshot(self, record: RawRecord) -> ErrorSnapshot:
        if record.error or record.exit_status:
            raise UnparsableError(
                tool=self.tool, reason=record.error or f"exit status {record.exit_status}: {self.last_line(record)[:200]}"
            )
        return read_error_snapshot(record.stdout)

    def _unread(self, subject: Subject, detail: str, reason: GateReason) -> GateResult:
        return GateResult(self.name, subject.name, Outcome.COULD_NOT_RUN, "complete", detail=detail, reason=reason)

    def _step(self, subject: Subject, level: Level, name: str, batch: int) -> GateStep:
        links = subject.node.spec.roles.get("hardware", {}).get("hardware_gpu_nvlinks")
        vendor = subject.gpu_vendor
        commands = (*vendor.counter_commands, *(vendor.link_counter_commands if links else ())) if subject.gpus else ()
        version = vendor.version_command if subject.gpus else ()
        argv = (
            "python3",
            "error_snapshot.py",
            "--log",
            f"{vendor.log_pattern}|{disk_errors.LOG_PATTERN}|{adapter_errors.LOG_PATTERN}",
            *commands,
        )
        timeout_s = at_level(subject.profile.settings_of(self).timeout_s, level)
        return GateStep(self.name, name, self.tool, Side.SOLO, argv, timeout_s, batch, version_argv=version)

    def _hint(self, result: GateResult) -> str:
        if result.hint or result.outcome is Outcome.PASS:
            return result.hint
        if result.reason in NOT_MEASURED:
            return hint_for(self, result.reason, result.node)
        if result.reason in _HINTS:
            return _HINTS[result.reason].format(node=result.node)
        if result.outcome is Outcome.WARN and is_unknown_link_counter(result.metric):
            return f"burn in {result.node} again; limit {result.metric} in gates_settings.load_errors.growth_max if it matters"
        action = action_for_one_alone if result.reason is GateReason.ABOVE_PEERS else action_for_growth
        return action(result.metric, result.device, result.node)

    def usual_s(self, settings: LoadErrorsSettings, level: Level) -> float:  # noqa: ARG002 the same at all levels and settings
        """A snapshot."""
        return 15.0

    def not_proven(self, settings: LoadErrorsSettings, level: Level) -> str:  # noqa: ARG002 the same at all levels and settings
        """It only counts."""
        return "errors that the load of this level does not raise"


def _beside(results: tuple[GateResult, ...], warning: GateResult) -> tuple[GateResult, ...]:
    """With a warning in place of a pass; what is judged already about that counter of the device stays alone."""
    if any((r.device, r.metric) == (warning.device, warning.metric) for r in results):
        return results
    return (*(r for r in results if r.outcome is not Outcome.PASS), warning)


def _last(before: ErrorSnapshot | None, later: Iterable[ErrorSnapshot]) -> ErrorSnapshot | None:
    """The latest snapshot, of another boot than `before` if there is one: uptime starts again at a boot."""
    return max(later, key=lambda s: (before is not None and s.boot_id != before.boot_id, s.uptime_s), default=None)


GATE = LoadErrors()
