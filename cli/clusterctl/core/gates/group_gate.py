"""Gates of a group: one run over many nodes. It proves all of them, or none: a bad number names no node."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, ClassVar, TypeVar

from pydantic import Field

from clusterctl.core.gates.gate import Gate, Scope
from clusterctl.core.gates.judging.limits import compare_with_limits
from clusterctl.core.gates.judging.missing_evidence import hint_for
from clusterctl.core.gates.judging.reading import not_run, read_record
from clusterctl.core.gates.planning.step import GateStep, GateSteps, Obstacle, Rendezvous, Side
from clusterctl.core.gates.settings import GateSettings, Seconds, at_level
from clusterctl.model.gate_reason import ABOUT_THE_PEER, GateReason
from clusterctl.model.gate_result import GateResult, Outcome, RawRecord

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clusterctl.core.gates.judging.evidence import Evidence
    from clusterctl.core.gates.judging.reading import Reading
    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.level import Level


_MEMBER_MARGIN_S = 30


class GroupSettings(GateSettings):
    """What group gates share.

    Attributes:
        control_port: TCP port by which the agents of the nodes find each other, and by which the launcher starts processes on the others.
        peer_wait_s: how long a node whose agent never answered is waited for.
    """

    control_port: Annotated[int, Field(ge=1024, le=65535)] = 18514
    peer_wait_s: Seconds = 120


G = TypeVar("G", bound=GroupSettings)


class GroupGate(Gate[G]):
    """A gate that one node of each group, the launcher, starts for all of its group.

    Attributes:
        member_argv: the program that the launcher starts on the other nodes, through their agents; they run nothing else for it.
    """

    scope: ClassVar[Scope] = Scope.GROUP
    member_argv: ClassVar[tuple[str, ...]]

    @abstractmethod
    def argv(self, settings: G, level: Level, members: Sequence[Subject]) -> tuple[str, ...]:
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
        launchers = {g[0].name: (self._step(g, level, batch),) for g in together}
        members = {m.name: (self._member_step(g[0], level, batch),) for g in together for m in g[1:]}
        return GateSteps(
            {**launchers, **members},
            {s.name: self._alone(s, name) for name, s in alone},
            self._rendezvous(subjects[0]) if together else None,
            nvlink_groups=self.nvlink_groups(together),
        )

    def nvlink_groups(self, groups: Sequence[Sequence[Subject]]) -> Mapping[str, tuple[str, ...]]:  # noqa: ARG002 for gates to override
        """Node -> the addresses of its group, where the group is joined by NVLink."""
        return {}

    def judge(self, evidence: Evidence) -> tuple[GateResult, ...]:
        """A result for every judged member of every run; where a run ended without any, a member's own record may say why."""
        results: list[GateResult] = []
        for record in (r for r in evidence.records if r.peers):
            lead = evidence.subjects.get(record.node)
            if lead is None:
                continue
            suspects = sorted(n for n in record.peers if n in evidence.failed_before)
            others = [evidence.subjects[n] for n in record.peers if n in evidence.subjects and n != lead.name]
            verdicts = self._verdicts((lead, *others), record)
            judged = [s.name for s in evidence.judged if s.name in record.peers]
            own = {} if any(v.outcome is Outcome.PASS for v in verdicts) else self._own_errors(evidence, record)
            results += own.values()
            results += [
                self._for_member(record, member, verdict, suspects) for member in judged if member not in own for verdict in verdicts
            ]
        return tuple(results)

    def _own_errors(self, evidence: Evidence, run: RawRecord) -> dict[str, GateResult]:
        """Node -> the reason why nothing could be started there, of those that have one of their own."""
        names = {s.name for s in evidence.judged} & set(run.peers)
        members = [r for r in evidence.records if not r.peers and r.node in names and r.peer == run.node]
        own = [r for r in members if r.error and r.error_code not in ABOUT_THE_PEER]
        return {r.node: replace(not_run(self, r, read_record(self, r)), peers=run.peers) for r in own}

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
            members=tuple((m.name, m.address) for m in members[1:]),
        )

    def _member_step(self, lead: Subject, level: Level, batch: int) -> GateStep:
        settings = lead.profile.settings_of(self)
        return GateStep(
            gate=self.name,
            name="member",
            tool=self.tool,
            side=Side.MEMBER,
            argv=self.member_argv,
            timeout_s=at_level(settings.timeout_s, level) + _MEMBER_MARGIN_S,
            batch=batch,
            peer=lead.name,
            peer_address=lead.address,
            version_argv=self.version_argv(settings),
        )

    def _rendezvous(self, lead: Subject) -> Rendezvous:
        settings = lead.profile.settings_of(self)
        return Rendezvous(settings.control_port, settings.peer_wait_s)

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
