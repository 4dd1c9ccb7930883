"""Gates of one node: each node runs one command by itself."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from clusterctl.core.gates.gate import Gate, S, Scope
from clusterctl.core.gates.judging.limits import compare_with_limits
from clusterctl.core.gates.judging.missing_evidence import with_hint
from clusterctl.core.gates.judging.own_history import is_low, with_repeats
from clusterctl.core.gates.judging.reading import Reading, gate_raised, not_run, read_record
from clusterctl.core.gates.planning.step import AGAIN, GateStep, GateSteps, Side
from clusterctl.core.gates.settings import at_level
from clusterctl.model.gate_reason import GateReason

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clusterctl.core.gates.judging.evidence import Evidence
    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import GateResult, RawRecord
    from clusterctl.model.level import Level


class NodeGate(Gate[S]):
    """A gate that needs no second node. A subclass has a command line; its default rule compares all samples with the baselines."""

    scope: ClassVar[Scope] = Scope.NODE

    def links_of(self, settings: S) -> str:  # noqa: ARG002 for gates to override
        """Vendor and class, as a pattern, of the PCI devices whose links are sampled while the command runs; empty = none."""
        return ""

    @abstractmethod
    def argv(self, settings: S, level: Level, subject: Subject) -> tuple[str, ...]:
        """The command line on one node."""

    def verdicts(self, subject: Subject, record: RawRecord, reading: Reading) -> Sequence[GateResult]:
        """The results of a record that has samples; hints may be left out."""
        if reading.rule:
            return (not_run(self, record, reading),)
        return compare_with_limits(self.name, subject.name, reading.samples, self.limits_of(subject, 1), nodes=1)

    def plan(self, subjects: Sequence[Subject], level: Level, batches: Iterator[int]) -> GateSteps:
        """One step on each node, all at the same time."""
        batch = next(batches)
        return GateSteps({s.name: (self._step(s, level, batch),) for s in subjects})

    def judge(self, evidence: Evidence) -> tuple[GateResult, ...]:
        """Each node by its own records, that of a repeat among them."""
        results: list[GateResult] = []
        for subject in evidence.judged:
            own = [r for r in evidence.records if r.node == subject.name]
            first, again = (
                [
                    replace(result, simulated=record.simulated, tool_version=record.tool_version)
                    for record in own
                    if (record.step == AGAIN) is is_repeat
                    for result in self._results(subject, record)
                ]
                for is_repeat in (False, True)
            )
            results += with_repeats(first, again)
        return tuple(results)

    def plan_again(self, subjects: Sequence[Subject], evidence: Evidence, batches: Iterator[int]) -> GateSteps:
        """The same step once more on the nodes that are far below their own earlier runs."""
        low = {r.node for r in self.judge(evidence) if is_low(r, evidence.usual)} if evidence.usual else set()
        taking = [s for s in subjects if s.name in low]
        batch = next(batches) if taking else 0
        return GateSteps({s.name: (replace(self._step(s, evidence.level, batch), name=AGAIN),) for s in taking})

    def _results(self, subject: Subject, record: RawRecord) -> Sequence[GateResult]:
        reading = read_record(self, record)
        if reading.samples:
            try:
                return [with_hint(self, r) for r in self.verdicts(subject, record, reading)]
            except Exception as e:  # noqa: BLE001 the code of a gate may raise anything; other records are judged all the same
                reading = Reading((), "complete", GateReason.GATE_RAISED, gate_raised(self, e))
        return (not_run(self, record, reading),)

    def _step(self, subject: Subject, level: Level, batch: int) -> GateStep:
        settings = subject.profile.settings_of(self)
        return GateStep(
            gate=self.name,
            name="solo",
            tool=self.tool,
            side=Side.SOLO,
            argv=self.argv(settings, level, subject),
            timeout_s=at_level(settings.timeout_s, level),
            batch=batch,
            version_argv=self.version_argv(settings),
            exclusive=True,
            shares_with=self.shares_with(subject),
            links_of=self.links_of(settings),
        )
