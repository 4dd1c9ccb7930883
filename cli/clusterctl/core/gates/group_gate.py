"""Gates of a group: one run over many nodes. It proves all of them, or none: a bad number names no node."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, ClassVar, TypeVar

from pydantic import Field

from clusterctl.core.gates.gate import Gate, Scope
from clusterctl.core.gates.judging.group_runs import GroupRun, by_search, latest, searches
from clusterctl.core.gates.judging.limits import compare_with_limits
from clusterctl.core.gates.judging.missing_evidence import hint_for, with_hint
from clusterctl.core.gates.judging.reading import not_run, read_record
from clusterctl.core.gates.planning.group_steps import (
    ALL,
    MEMBER,
    PAIR,
    GroupPlanner,
    in_pairs,
    of_run,
    place_on,
    rung_of,
    search_rung,
    variant_of,
)
from clusterctl.core.gates.planning.step import GateSteps, Obstacle, Rendezvous
from clusterctl.core.gates.settings import GateSettings, Seconds, at_level
from clusterctl.model.gate_reason import ABOUT_THE_PEER, NOT_MEASURED, GateReason
from clusterctl.model.gate_result import GateResult, Outcome, RawRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from clusterctl.core.gates.judging.evidence import Evidence
    from clusterctl.core.gates.judging.reading import Reading
    from clusterctl.core.gates.planning.step import GateStep
    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.level import Level


class GroupSettings(GateSettings):
    """What group gates share.

    Attributes:
        control_port: TCP port by which the agents of the nodes find each other, and by which the launcher starts processes on the others.
        peer_wait_s: how long a node whose agent never answered is waited for.
        search: a group that is bad is measured again, then in halves, until the nodes at fault are found, or none is.
    """

    control_port: Annotated[int, Field(ge=1024, le=65535)] = 18514
    peer_wait_s: Seconds = 120
    search: bool = True


G = TypeVar("G", bound=GroupSettings)


class GroupGate(Gate[G]):
    """A gate that one node of each group, the launcher, starts for all of its group.

    Attributes:
        member_argv: the program that the launcher starts on the other nodes, through their agents; empty if it starts none.
        after_argv: a command on every node after the run, launcher or not; empty if there is none.
    """

    scope: ClassVar[Scope] = Scope.GROUP
    member_argv: ClassVar[tuple[str, ...]] = ()
    after_argv: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def argv(self, settings: G, level: Level, members: Sequence[Subject]) -> tuple[str, ...]:
        """The command line on the first member."""

    def group_of(self, subject: Subject, variant: str) -> str:  # noqa: ARG002 for gates to override
        """Nodes of equal group are measured together by a variant; an empty string is the network that joins all nodes."""
        return ""

    def shows_something(self, group: Sequence[Subject], variant: str) -> bool:  # noqa: ARG002 for gates to override
        """Whether a variant is measured on a group."""
        return len(group) > 1

    def left_out(self, run: GroupRun, level: Level) -> Iterable[GateResult]:  # noqa: ARG002 for gates to override
        """What could not be measured on the group of a plain run, as results of all its members that it concerns."""
        return ()

    def verdicts(self, members: Sequence[Subject], record: RawRecord, reading: Reading) -> Sequence[GateResult]:
        """The results of a run that has samples, without hints; the first member started it."""
        lead, nodes = members[0], len(record.peers)
        return compare_with_limits(self.name, lead.name, reading.samples, self.limits_of(lead, nodes), nodes=nodes)

    def rungs(self, subjects: Sequence[Subject], level: Level) -> tuple[str, ...]:  # noqa: ARG002 for gates to override
        """The sizes of groups to measure, in this order; the last one is `all`."""
        return (ALL,)

    def variants(self, subject: Subject) -> Mapping[str, G]:
        """The runs of a rung in which a node takes part, one after the other: name -> settings; the plain one has no name."""
        return {"": subject.profile.settings_of(self)}

    def device_of(self, subject: Subject, variant: str) -> str:  # noqa: ARG002 for gates to override
        """The device of a node that a variant measures; empty for several."""
        return ""

    def culprit_hint(self, result: GateResult) -> str:  # noqa: ARG002 for gates to override
        """The next action for a node that a search found to be at fault; empty = as for any result like this."""
        return ""

    def measured_at(self, settings: G, variant: str, level: Level) -> bool:  # noqa: ARG002 for gates to override
        """Whether a variant is measured at a burn-in level."""
        return True

    def variant_argv(self, settings: G, level: Level, members: Sequence[Subject], variant: str) -> tuple[str, ...]:  # noqa: ARG002 for gates to override
        """The command line of a variant's run."""
        return self.argv(settings, level, members)

    def after_variant(self, variant: str) -> tuple[str, ...]:  # noqa: ARG002 for gates to override
        """`after_argv` for a variant's run."""
        return self.after_argv

    def limit_s(self, settings: G, level: Level, members: Sequence[Subject]) -> int:  # noqa: ARG002 for gates to override
        """The time limit of a run over `members`."""
        return at_level(settings.timeout_s, level)

    def search_limit_s(self, settings: G, level: Level, members: Sequence[Subject]) -> int:
        """The time limit of the runs of a search in a group of `members` that hung; each of them may hang, too."""
        return self.limit_s(settings, level, members)

    def plan(self, subjects: Sequence[Subject], level: Level, batches: Iterator[int]) -> GateSteps:
        """The last rung."""
        return self.plan_rung(subjects, level, batches, ALL)

    def plan_rung(self, subjects: Sequence[Subject], level: Level, batches: Iterator[int], rung: str) -> GateSteps:
        """The steps of each group, variant after variant, all groups at the same time; a node that is alone on the last rung cannot be measured."""
        groups = self.groups_of(subjects, rung)
        alone = [(name, g[0]) for name, g in groups.items() if len(g) == 1 and rung == ALL]
        together = [g for g in groups.values() if len(g) > 1]
        steps: dict[str, tuple[GateStep, ...]] = {}
        for variant, joined in self._runs_of(together, subjects, rung, level).items():
            batch, after = next(batches), next(batches)
            for group in joined:
                settings = self.variants(group[0])[variant]
                limit_s = self.limit_s(settings, level, group)
                planner = GroupPlanner(self, group, level, settings, limit_s, "" if rung == ALL else rung, variant)
                for member in group:
                    steps[member.name] = (*steps.get(member.name, ()), *planner.steps(member, batch, after))
        return GateSteps(
            steps,
            {s.name: self._alone(s, name) for name, s in alone},
            self._rendezvous(subjects[0]) if together else None,
            nvlink_groups=self.nvlink_groups(together),
        )

    def plan_search(self, subjects: Sequence[Subject], evidence: Evidence, batches: Iterator[int], rung: str, number: int) -> GateSteps:
        """The next level of the searches in the groups of a rung, all at the same time; no steps at their end.

        `number` is that of the level, from 1 on; `subjects` may take part.
        """
        taking = {s.name: s for s in subjects}
        steps: dict[str, tuple[GateStep, ...]] = {}
        joined: dict[str, tuple[str, ...]] = {}
        batch, after = next(batches), next(batches)
        for search in searches(self.runs(evidence), rung):
            lead = taking.get(search.run.record.node)
            if lead is None or not lead.profile.settings_of(self).search or not {*search.run.record.peers} <= set(taking):
                continue
            settings, whole = self.variants(lead)[search.variant], [taking[name] for name in search.run.record.peers]
            for group in search.search.next_level():
                members = [taking[name] for name in group]
                limits = (self.search_limit_s, whole) if search.run.cut_off else (self.limit_s, members)
                limit_s = limits[0](settings, evidence.level, limits[1])
                planner = GroupPlanner(self, members, evidence.level, settings, limit_s, search_rung(rung, number), search.variant)
                steps |= {member.name: planner.steps(member, batch, after) for member in members}
                joined |= self.nvlink_groups([whole])
        return GateSteps(steps, {}, self._rendezvous(subjects[0]) if steps else None, nvlink_groups=joined)

    def _runs_of(
        self, together: Sequence[Sequence[Subject]], subjects: Sequence[Subject], rung: str, level: Level
    ) -> Mapping[str, Sequence[Sequence[Subject]]]:
        """Variant -> its groups: of the nodes that the plain run measures with others."""
        taking = {s.name for group in together for s in group}
        runs: dict[str, list[Sequence[Subject]]] = {}
        for variant in dict.fromkeys(v for group in together for v in self._variants_at(group[0], level)):
            own = [s for s in subjects if s.name in taking and variant in self._variants_at(s, level)]
            runs[variant] = [g for g in self.groups_of(own, rung, variant).values() if self.shows_something(g, variant)]
        return {variant: groups for variant, groups in runs.items() if groups}

    def _variants_at(self, subject: Subject, level: Level) -> list[str]:
        settings = subject.profile.settings_of(self)
        return [variant for variant in self.variants(subject) if self.measured_at(settings, variant, level)]

    def groups_of(self, subjects: Sequence[Subject], rung: str, variant: str = "") -> Mapping[str, Sequence[Subject]]:
        """The nodes that a rung measures together by a variant, by the name of their group."""
        groups: dict[str, list[Subject]] = {}
        for subject in subjects:
            part = place_on(ALL if rung == PAIR else rung, subject)
            if part is not None:
                groups.setdefault(" ".join(word for word in (self.group_of(subject, variant), part) if word), []).append(subject)
        return {name: pair for group in groups.values() for name, pair in in_pairs(group).items()} if rung == PAIR else groups

    def nvlink_groups(self, groups: Sequence[Sequence[Subject]]) -> Mapping[str, tuple[str, ...]]:  # noqa: ARG002 for gates to override
        """Node -> the addresses of its group, where the group is joined by NVLink."""
        return {}

    def with_evidence(self, run: RawRecord, evidence: Evidence) -> RawRecord:  # noqa: ARG002 for gates to override
        """A run with what other nodes' records show of it."""
        return run

    def proofs(self, run: RawRecord, evidence: Evidence, *, finished: bool) -> Mapping[str, GateResult]:  # noqa: ARG002 for gates to override
        """Node -> what its own record proves of it, where nodes have such records."""
        return {}

    def runs(self, evidence: Evidence) -> tuple[GroupRun, ...]:
        """The runs of all groups, each with what it shows."""
        found = []
        for record in (self.with_evidence(_undisturbed(r, evidence), evidence) for r in evidence.records if r.peers):
            lead = evidence.subjects.get(record.node)
            if lead is not None:
                others = [evidence.subjects[n] for n in record.peers if n in evidence.subjects and n != lead.name]
                device = self.device_of(lead, variant_of(record))
                run = GroupRun(record, (lead, *others), tuple(replace(v, device=device) for v in self._verdicts((lead, *others), record)))
                own = {} if run.passed else self._own_errors(evidence, record)
                proofs = {n: replace(p, device=device) for n, p in self.proofs(record, evidence, finished=run.passed).items()}
                found.append(replace(run, proofs=proofs, own_errors=own))
        return tuple(found)

    def judge(self, evidence: Evidence) -> tuple[GateResult, ...]:
        """A result for every judged member of every run; where a run ended without any, a member's own record may show why.

        A search replaces the results of its runs, where it found somebody or showed that it was a collision.
        """
        results: list[GateResult] = []
        runs = self.runs(evidence)
        last = latest(runs)
        proved: dict[str, bool] = {}
        for run in (r for r in runs if not r.of_search):
            found = {s.name: self._results_in(run, s.name, evidence) for s in evidence.judged if s.name in run.record.peers}
            found |= by_search(run, runs, found, self.culprit_hint)
            for name, own in found.items():
                results += (self._with_action(r) for r in own)
                if run in last.get(name, ()):
                    proved[name] = proved.get(name, True) and all(r.outcome is Outcome.PASS for r in own)
        # What another node spoiled was measured again, without that node.
        counting = (r for r in results if not (proved.get(r.node) and r.reason is GateReason.GROUP_SPOILED))
        return (*counting, *self._left_out(runs, evidence))

    def _left_out(self, runs: Sequence[GroupRun], evidence: Evidence) -> Iterator[GateResult]:
        """Once for each node and device, of the widest group."""
        judged = {s.name for s in evidence.judged}
        found: dict[tuple[str, str], GateResult] = {}
        plain = (r for r in runs if not r.of_search and not variant_of(r.record))
        for run in sorted(plain, key=lambda r: len(r.record.peers)):
            simulated = run.record.simulated
            found |= {
                (r.node, r.device): replace(r, peers=run.record.peers, simulated=simulated) for r in self.left_out(run, evidence.level)
            }
        return (one for (node, _), one in found.items() if node in judged)

    def _with_action(self, result: GateResult) -> GateResult:
        """What a search found has the gate's own hint."""
        return result if result.hint else with_hint(self, result)

    def _results_in(self, run: GroupRun, member: str, evidence: Evidence) -> Sequence[GateResult]:
        record = run.record
        suspects = sorted(n for n in record.peers if n in evidence.failed_before or n in run.named or n in run.own_errors)
        shared = [self._for_member(record, member, verdict, suspects) for verdict in run.verdicts]
        spoiled = (r.outcome is not Outcome.PASS and (run.named or (run.own_errors and r.reason in NOT_MEASURED)) for r in shared)
        shared = [_spoiled(r) if own else r for r, own in zip(shared, spoiled, strict=True)]
        return self._results_of_node(shared, run.own_errors.get(member), run.proofs.get(member))

    def _results_of_node(self, shared: Sequence[GateResult], own: GateResult | None, proof: GateResult | None) -> Sequence[GateResult]:
        """What it shows itself comes before what it shares with its group; a proof that is missing matters where nothing else is."""
        if proof and proof.outcome is Outcome.FAIL:
            return (*(r for r in shared if r.outcome is Outcome.PASS and r.rule == "correctness"), proof)
        if own:
            return (own,)
        missing = proof and proof.outcome is not Outcome.PASS and any(r.outcome is not Outcome.PASS for r in shared)
        return (*shared, *((proof,) if proof and not missing else ()))

    def _own_errors(self, evidence: Evidence, run: RawRecord) -> dict[str, GateResult]:
        """Node -> the reason why nothing could be started there, of those that have one of their own."""
        names = {s.name for s in evidence.judged} & set(run.peers)
        members = [r for r in evidence.records if r.node in names and of_run(r, run, MEMBER)]
        own = [r for r in members if r.error and r.error_code not in ABOUT_THE_PEER]
        return {r.node: replace(not_run(self, r, read_record(self, r)), peers=run.peers) for r in own}

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
        result = replace(verdict, node=member, peers=record.peers, simulated=record.simulated, tool_version=record.tool_version)
        if verdict.outcome is Outcome.FAIL:
            return self._group_failed(result, sorted(record.peers), suspects)
        if verdict.outcome is Outcome.COULD_NOT_RUN:
            if suspects:
                detail = f"{result.detail}; {', '.join(suspects)} did not pass"
                return replace(result, detail=detail, hint=self._without(suspects, record.peers))
            return replace(result, hint=hint_for(self, verdict.reason, member))
        if verdict.outcome is Outcome.PASS:
            which = ", ".join(word for word in (rung_of(record), variant_of(record)) if word)
            return replace(result, detail=verdict.detail or f"{len(record.peers)} nodes together{f' ({which})' if which else ''}")
        return result

    def _without(self, suspects: Sequence[str], names: Sequence[str]) -> str:
        others = ",".join(n for n in names if n not in suspects)
        partner = "" if "," in others else " --partners NODE"
        again = f": `clusterctl burnin {others}{partner} {self.options}`" if others else ""
        return f"rerun without {', '.join(suspects)}{again}"

    def _group_failed(self, result: GateResult, names: Sequence[str], suspects: Sequence[str]) -> GateResult:
        found = f"{result.metric} {result.found}, expected {result.expected}, source {result.source}"
        detail = f"the group of {len(names)} failed ({found}){f'; {result.detail}' if result.detail else ''}"
        if suspects:
            detail += f"; {', '.join(suspects)} did not pass"
            hint = self._without(suspects, names)
        else:
            detail += "; no node is singled out by it"
            half = names[: len(names) // 2]
            halve = f"halve the group to find the part that is bad: `clusterctl burnin {','.join(half)} {self.options}`, then the rest; "
            hint = (halve if len(half) > 1 else "") + self.hint(result)
        return replace(result, outcome=Outcome.COULD_NOT_RUN, detail=detail, hint=hint)


def _undisturbed(run: RawRecord, evidence: Evidence) -> RawRecord:
    """A run that was alone on its launcher was alone only if it was so on every member."""
    others = [r for r in evidence.records if of_run(r, run, MEMBER) and r.error_code is GateReason.IN_USE]
    if not others or run.error_code is GateReason.IN_USE:
        return run
    error = "; ".join(f"{r.node}: {r.error}" for r in others)
    return replace(run, error=error, error_code=GateReason.IN_USE, exit_status=None)


def _spoiled(result: GateResult) -> GateResult:
    return replace(result, reason=GateReason.GROUP_SPOILED)
