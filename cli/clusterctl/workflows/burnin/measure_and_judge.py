"""Burn-in of a set of nodes: node and pair gates first, then group gates over the nodes that passed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from itertools import count
from typing import TYPE_CHECKING

from clusterctl.adapters.slow_classes_file import SLOW_FILE, slow_document
from clusterctl.adapters.usual_values import USUAL_FILE, usual_document
from clusterctl.core.gates.gate import Scope
from clusterctl.core.gates.group_gate import GroupGate
from clusterctl.core.gates.judging.judge import judge, not_passed
from clusterctl.core.gates.judging.slow_classes import slow_classes
from clusterctl.core.gates.planning.coverage import coverage
from clusterctl.core.gates.planning.gate_plan import SECOND, GatePlan, part_name, plan_again, plan_gates, plan_search
from clusterctl.core.gates.planning.group_steps import ALL, REST, search_rung
from clusterctl.core.gates.planning.header import FILE, header_of
from clusterctl.core.gates.planning.step import BurnInPart
from clusterctl.core.gates.registry import all_gates, gate_named, gate_names, require_known
from clusterctl.core.gates.subject import Subject, subject_of
from clusterctl.model.errors import ConfigError, UsageProblemError
from clusterctl.model.gate_reason import NOT_MEASURED, GateReason
from clusterctl.model.level import LEVELS, Level
from clusterctl.workflows.burnin.measure import measure
from clusterctl_validators.finding import GOOD

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from clusterctl.adapters.config import Config
    from clusterctl.adapters.run_directory import RunDir
    from clusterctl.core.gates.planning.step import Obstacle
    from clusterctl.model.gate_result import GateResult, RawRecord
    from clusterctl.model.node import Node
    from clusterctl.model.own_history import HistoryKey
    from clusterctl.model.task_event import TaskEvent


def level_named(level: str) -> Level:
    """A burn-in level by its name.

    Raises:
        ConfigError: there is none of that name.
    """
    found = next((known for known in LEVELS if known == level), None)
    if found is None:
        raise ConfigError(detail=f"unknown burn-in level {level!r}", hint=f"levels: {', '.join(LEVELS)}")
    return found


def require_in_level(subjects: Sequence[Subject], level: str, gates: Sequence[str]) -> None:
    """Refuse gates that would not be measured on every node that is judged: a burn-in that ran nothing proves nothing.

    Raises:
        UsageProblemError: a gate is unknown, or not in the level of such a node.
        ConfigError: the level is unknown.
    """
    require_known(gates)
    chosen = level_named(level)
    for gate in (gate_named(name) for name in gates):
        without = [s.name for s in subjects if not s.partner and gate.name not in s.profile.levels[chosen]]
        if without:
            levels = [known for known in LEVELS if all(gate.name in s.profile.levels[known] for s in subjects if not s.partner)]
            hint = f"--level {levels[0]} has it" if levels else "gates_levels of its profile lists the gates of each level"
            raise UsageProblemError(detail=f"{gate.name} is not in the level {chosen} of {without[0]}: it would not run there", hint=hint)


def subjects_of(nodes: Sequence[Node], partners: Sequence[Node] = ()) -> tuple[Subject, ...]:
    """The subjects of a burn-in: nodes to judge, and partners that are only measured with. A node that is both is judged.

    Raises:
        ConfigError: a profile is invalid.
    """
    today = _today()
    judged = {n.name for n in nodes}
    others = (p for p in partners if p.name not in judged)
    return (*(subject_of(n, today) for n in nodes), *(subject_of(p, today, partner=True) for p in others))


def gates_measured(gates: Sequence[str] | None) -> tuple[str, ...]:
    """All gates or only `gates`, with those that take part in every burn-in, in the order in which they run.

    Raises:
        ConfigError: a gate is unknown.
    """
    chosen = {*(gate_named(name).name for name in gates or gate_names()), *(g.name for g in all_gates() if g.always)}
    return tuple(g for g in gate_names() if g in chosen)


def run_burnin(
    subjects: Sequence[Subject],
    rundir: RunDir,
    config: Config,
    level: str,
    *,
    gates: Sequence[str] | None = None,
    usual: Mapping[HistoryKey, float] | None = None,
    on_event: Callable[[TaskEvent], None] | None = None,
) -> tuple[GateResult, ...]:
    """Measure the subjects at `level`, all its gates or only `gates`, and judge those that are not partners; `usual`: what devices read in earlier runs.

    Node and pair gates come first; pairs in two stages, of which the second measures the suspects of the first with proven partners, and repeats what is far below `usual`. A group gate then runs over the nodes that passed them (and the partners), so that a bad
    node does not spoil it for the others; where a group is bad, it is searched for the nodes at fault, and the others are measured again without them. Raw records, plans and results are in the run directory afterwards, whatever happens.

    Raises:
        ConfigError: a gate or level is unknown; nothing was measured.
        StoreError: the run directory cannot be written.
    """
    burnin = _Burnin(tuple(subjects), level_named(level), gates_measured(gates), rundir)
    late = tuple(g for g in gate_names(Scope.GROUP) if g in burnin.gates)
    early = tuple(g for g in burnin.gates if g not in late)
    frames = tuple(g for g in gate_names(Scope.BURN_IN) if g in burnin.gates)
    plan = plan_gates(subjects, burnin.level, early, seed=rundir.id)
    rundir.write_json(USUAL_FILE, usual_document(usual or {}))
    burnin.write_header(plan, plan.impossible)
    records: tuple[RawRecord, ...] = measure(plan, rundir, config, BurnInPart.NODES, on_event)
    again = plan_again(subjects, records, burnin.level, early, seed=rundir.id, usual=usual)
    records = (*records, *measure(again, rundir, config, part_name(BurnInPart.NODES, SECOND), on_event, earlier=records))
    results = judge(subjects, records, level=burnin.level, gates=early, impossible=plan.impossible, usual=usual)
    impossible = dict(plan.impossible)
    for rung in _rungs(subjects, results, late, burnin.level):
        taking = _taking(subjects, results, records, late, rung)
        measured = late if rung != REST else _not_proven(results, late, taking)
        second = plan_gates(taking, burnin.level, (*frames, *measured), BurnInPart.GROUP, rung)
        impossible |= second.impossible
        burnin.write_header(plan, impossible)
        records = (*records, *measure(second, rundir, config, part_name(BurnInPart.GROUP, rung), on_event, earlier=records))
        for number in count(1):
            search = plan_search(taking, records, burnin.level, (*frames, *late), rung=rung, number=number)
            if not search.busy:
                break
            part = part_name(BurnInPart.GROUP, search_rung(rung, number))
            records = (*records, *measure(search, rundir, config, part, on_event, earlier=records))
        results = judge(subjects, records, level=burnin.level, gates=burnin.gates, impossible=impossible, usual=usual)
    rundir.write_json("gates/results.json", {"schema_version": 1, "results": [asdict(r) for r in results]})
    rundir.write_json(SLOW_FILE, slow_document(slow_classes(subjects, results)))
    return results


def _rungs(subjects: Sequence[Subject], results: Sequence[GateResult], late: Sequence[str], level: Level) -> tuple[str, ...]:
    """The rungs of all group gates, as `plan_gates` takes them; none without such a gate."""
    bad = not_passed(results)
    found: dict[str, None] = {}
    for gate in (g for g in all_gates() if g.name in late and isinstance(g, GroupGate)):
        taking = [s for s in subjects if s.name not in bad and gate.name in s.profile.levels[level]]
        found |= dict.fromkeys(gate.rungs(taking, level))
    order = [r for r in found if r != ALL]
    return (*order, "", REST) if late else ()


def _taking(
    subjects: Sequence[Subject], results: Sequence[GateResult], records: Sequence[RawRecord], late: Sequence[str], rung: str
) -> list[Subject]:
    """Those whose last result is not a fault of theirs; on the rung after the last one only those whose group another node spoiled."""
    own = [r for r in results if r.reason is not GateReason.GROUP_SPOILED]
    if rung == REST:
        spoiling = {r.gate for r in results if r.reason is GateReason.GROUP_SPOILED}
        at_fault = {(r.gate, r.node) for r in own if r.gate in spoiling and r.outcome not in GOOD}
        own = [r for r in own if not _not_measured_with(r, late, at_fault)]
    bad = not_passed([r for r in own if r.gate not in late or r.node in _members(records, late)])
    spoiled = {r.node for r in results if r.reason is GateReason.GROUP_SPOILED}
    if rung == REST and not spoiled:
        return []
    return [s for s in subjects if s.name not in bad and (rung != REST or s.partner or s.name in spoiled)]


def _not_measured_with(result: GateResult, late: Sequence[str], at_fault: Collection[tuple[str, str]]) -> bool:
    """Whether a group was not measured, and had a member that spoiled another gate, which may be why. What was measured stays."""
    others = {name for gate, name in at_fault if gate != result.gate} - {result.node}
    return result.gate in late and result.reason in NOT_MEASURED and not others.isdisjoint(result.peers)


def _not_proven(results: Sequence[GateResult], late: Sequence[str], taking: Sequence[Subject]) -> tuple[str, ...]:
    """The group gates that some of these nodes have not passed."""
    names = {s.name for s in taking}
    bad = {r.gate for r in results if r.node in names and (r.outcome not in GOOD or r.reason is GateReason.GROUP_SPOILED)}
    return tuple(g for g in late if g in bad)


def _members(records: Sequence[RawRecord], late: Sequence[str]) -> set[str]:
    """The nodes that a group gate has measured."""
    return {name for r in records if r.gate in late for name in (r.node, *r.peers)}


@dataclass(frozen=True, slots=True)
class _Burnin:
    subjects: tuple[Subject, ...]
    level: Level
    gates: tuple[str, ...]
    rundir: RunDir

    def write_header(self, plan: GatePlan, impossible: Mapping[tuple[str, str], Obstacle]) -> None:
        nodes = [s.node for s in self.subjects if not s.partner]
        partners = [s.node for s in self.subjects if s.partner]
        pairs = coverage((*nodes, *partners), plan) if set(gate_names(Scope.PAIR)) & set(self.gates) else None
        header = header_of(self.level, self.gates, nodes, partners, impossible=impossible, pairs=pairs)
        self.rundir.write_json(FILE, header.to_json())


def _today() -> date:
    return datetime.now(UTC).date()
