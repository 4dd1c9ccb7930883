"""Gates of a group: one run over many nodes. It proves all of them, or none: a bad number names no node."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from clusterctl.core.gates.gate import Gate, S, Scope
from clusterctl.core.gates.judging.limits import compare_with_limits
from clusterctl.core.gates.judging.missing_evidence import hint_for
from clusterctl.core.gates.judging.reading import read_record
from clusterctl.core.gates.planning.step import GateStep, GateSteps, Obstacle, Side
from clusterctl.core.gates.settings import at_level
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome, RawRecord

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clusterctl.core.gates.judging.evidence import Evidence
    from clusterctl.core.gates.judging.reading import Reading
    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.level import Level


class GroupGate(Gate[S]):
    """A gate that one node of each group starts for all of its group."""

    scope: ClassVar[Scope] = Scope.GROUP

    @abstractmethod
    def argv(self, settings: S, level: Level, members: Sequence[Subject]) -> tuple[str, ...]:
        """The command line on the first member."""

    def group_of(self, subject: Subject) -> str:  # noqa: ARG002 for gates to override
        """Nodes of equal group are measured together; an empty string is the network that joins all nodes."""
        return ""

    def verdicts(self, members: Sequence[Subject], record: RawRecord, reading: Reading) -> Sequence[GateResult]:
        """The results of a run that has samples, without hints; the first member started it."""
        lead, nodes = members[0], len(record.peers)
        return compare_with_limits(self.name, lead.name, reading.samples, self.limits_of(lead, nodes), nodes=nodes)

    def plan(self, subjects: Sequence[Subject], level: Level, batches: Iterator[int]) -> GateSteps:
        """One step on the first node of each group, all groups at the same time; a node that is alone cannot be measured."""
        groups: dict[str, list[Subject]] = {}
        for subject in subjects:
            groups.setdefault(self.group_of(subject), []).append(subject)
        alone = [(name, g[0]) for name, g in groups.items() if len(g) == 1]
        together = [g for g in groups.values() if len(g) > 1]
        batch = next(batches) if together else 0
        return GateSteps(
            {g[0].name: (self._step(g, level, batch),) for g in together},
            {s.name: self._alone(s, name) for name, s in alone},
            nvlink_groups=self.nvlink_groups(together),
        )

    def nvlink_groups(self, groups: Sequence[Sequence[Subject]]) -> Mapping[str, tuple[str, ...]]:  # noqa: ARG002 for gates to override
        """Node -> the addresses of its group, where the group is joined by NVLink."""
        return {}

    def judge(self, evidence: Evidence) -> tuple[GateResult, ...]:
        """A result for every judged member of every run."""
        results: list[GateResult] = []
        for record in evidence.records:
            lead = evidence.subjects.get(record.node)
            if lead is None:
                continue
            suspects = sorted(n for n in record.peers if n in evidence.failed_before)
            others = [evidence.subjects[n] for n in record.peers if n in evidence.subjects and n != lead.name]
            verdicts = self._verdicts((lead, *others), record)
            judged = [s.name for s in evidence.judged if s.name in record.peers]
            results += [self._for_member(record, member, verdict, suspects) for member in judged for verdict in verdicts]
        return tuple(results)

    def _step(self, members: Sequence[Subject], level: Level, batch: int) -> GateStep:
        settings = members[0].profile.settings_of(self)
        return GateStep(
            gate=self.name,
            name="group",
            tool=self.tool,
            side=Side.SOLO,
            argv=self.argv(settings, level, members),
            timeout_s=at_level(settings.timeout_s, level),
            batch=batch,
            peers=tuple(m.name for m in members),
            version_argv=self.version_argv(settings),
        )

    def _alone(self, subject: Subject, group: str) -> Obstacle:
        where = f" of {group}" if group else ""
        hint = f"add a known-good one: `clusterctl burnin {subject.name} --partners NODE`"
        return Obstacle(GateReason.NO_PARTNER, f"{self.name} needs a second node{where}", hint)

    def _verdicts(self, members: Sequence[Subject], record: RawRecord) -> Sequence[GateResult]:
        reading = read_record(self, record)
        if reading.samples:
            return self.verdicts(members, record, reading)
        detail = f"on {record.node}: {reading.detail}"
        return (GateResult(self.name, record.node, Outcome.COULD_NOT_RUN, reading.rule, detail=detail, reason=reading.reason),)

    def _for_member(self, record: RawRecord, member: str, verdict: GateResult, suspects: Sequence[str]) -> GateResult:
        result = replace(verdict, node=member, peers=record.peers, simulated=record.simulated)
        if verdict.outcome is Outcome.FAIL:
            return self._group_failed(result, sorted(record.peers), suspects)
        if verdict.outcome is Outcome.COULD_NOT_RUN:
            return replace(result, hint=hint_for(self, verdict.reason, member))
        if verdict.outcome is Outcome.PASS:
            return replace(result, detail=verdict.detail or f"{len(record.peers)} nodes together")
        return result

    def _group_failed(self, result: GateResult, names: Sequence[str], suspects: Sequence[str]) -> GateResult:
        found = f"{result.metric} {result.found}, expected {result.expected}, source {result.source}"
        detail = f"the group of {len(names)} failed ({found}){f'; {result.detail}' if result.detail else ''}"
        if suspects:
            others = ",".join(n for n in names if n not in suspects)
            detail += f"; {', '.join(suspects)} did not pass an earlier gate"
            hint = f"rerun without {', '.join(suspects)}: `clusterctl burnin {others} --gates {self.name}`"
        else:
            detail += "; no node is singled out by it"
            half = names[: len(names) // 2]
            halve = (
                f"halve the group to find the part that is bad: `clusterctl burnin {','.join(half)} --gates {self.name}`, then the rest; "
            )
            hint = (halve if len(half) > 1 else "") + self.hint(result)
        return replace(result, outcome=Outcome.COULD_NOT_RUN, detail=detail, hint=hint)
