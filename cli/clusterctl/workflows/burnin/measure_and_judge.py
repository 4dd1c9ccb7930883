"""Burn-in of a set of nodes: measure, judge, and let only nodes that did well take part in what needs them all."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from clusterctl.core.gates.coverage import coverage
from clusterctl.core.gates.gate_plan import GatePlan, plan_gates
from clusterctl.core.gates.gates_profile import profile_of
from clusterctl.core.gates.header import FILE, header_of
from clusterctl.core.gates.settings import GATES, GROUP_GATES
from clusterctl.core.judge import Subject, judge, not_passed, subject_of
from clusterctl.model.errors import ConfigError
from clusterctl.model.level import LEVELS, Level
from clusterctl.workflows.burnin.measure import measure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from clusterctl.adapters.config import Config
    from clusterctl.adapters.run_directory import RunDir
    from clusterctl.model.gate_result import GateResult, RawRecord
    from clusterctl.model.node import Node
    from clusterctl.model.task_event import TaskEvent


@dataclass(frozen=True, slots=True)
class _Burnin:
    nodes: tuple[Node, ...]
    partners: tuple[Node, ...]
    level: Level
    gates: tuple[str, ...]
    today: date

    @property
    def subjects(self) -> tuple[Subject, ...]:
        judged = tuple(subject_of(n, self.today) for n in self.nodes)
        return (*judged, *(subject_of(n, self.today, partner=True) for n in self.partners))

    def plan(self, nodes: Sequence[Node], gates: Sequence[str]) -> GatePlan:
        return plan_gates(nodes, {n.name: profile_of(n, self.today) for n in nodes}, self.level, gates)


def expected_gates(node: Node, level: str, today: date | None = None) -> tuple[str, ...]:
    """The gates that a node's profile asks for at a level.

    Raises:
        ConfigError: the profile is invalid or has no such level.
    """
    return profile_of(node, today or _today()).levels[level_named(level)]


def level_named(level: str) -> Level:
    """A burn-in level by its name.

    Raises:
        ConfigError: there is none of that name.
    """
    found = next((known for known in LEVELS if known == level), None)
    if found is None:
        raise ConfigError(detail=f"unknown burn-in level {level!r}", hint=f"levels: {', '.join(LEVELS)}")
    return found


def run_burnin(
    nodes: Sequence[Node],
    rundir: RunDir,
    config: Config,
    level: str,
    *,
    partners: Sequence[Node] = (),
    gates: Sequence[str] | None = None,
    on_event: Callable[[TaskEvent], None] | None = None,
) -> tuple[GateResult, ...]:
    """Measure and judge `nodes` at `level`, all its gates or only `gates`; `partners` are measured with and not judged.

    Node and pair gates come first; a group gate then runs over the nodes that passed those (and the partners), so that a bad
    node cannot spoil it for the rest. Raw records, plans and results are in the run directory afterwards, whatever happens.

    Raises:
        ConfigError: a profile is invalid, or a gate or level is unknown; nothing was measured.
        StoreError: the run directory cannot be written.
    """
    unknown = [g for g in gates or () if g not in GATES]
    if unknown:
        raise ConfigError(detail=f"unknown gate {unknown[0]!r}", hint=f"gates: {', '.join(GATES)}")
    judged = {n.name for n in nodes}
    others = tuple(p for p in partners if p.name not in judged)
    work = _Burnin(tuple(nodes), others, level_named(level), tuple(g for g in GATES if g in (gates or GATES)), _today())
    everyone = (*work.nodes, *work.partners)
    subjects = work.subjects
    early = tuple(g for g in work.gates if g not in GROUP_GATES)
    plan = work.plan(everyone, early)
    impossible: dict[tuple[str, str], str] = {**plan.impossible}
    _write_header(work, rundir, plan, impossible)
    records: tuple[RawRecord, ...] = measure(plan, rundir, config, "nodes", on_event) if early else ()
    results = judge(subjects, records, level=work.level, gates=early, impossible=plan.impossible)
    late = tuple(g for g in work.gates if g in GROUP_GATES)
    if late:
        bad = not_passed(results)
        good = [n for n in everyone if n.name not in bad]
        second = work.plan(good, late)
        impossible |= second.impossible
        _write_header(work, rundir, plan, impossible)
        records = (*records, *measure(second, rundir, config, "group", on_event))
        results = judge(subjects, records, level=work.level, gates=work.gates, impossible=impossible)
    rundir.write_json("gates/results.json", {"schema_version": 1, "results": [asdict(r) for r in results]})
    return results


def _write_header(work: _Burnin, rundir: RunDir, plan: GatePlan, impossible: Mapping[tuple[str, str], str]) -> None:
    pairs = coverage((*work.nodes, *work.partners), plan) if "rdma_pair" in work.gates else None
    header = header_of(work.level, work.gates, work.nodes, work.partners, impossible=impossible, pairs=pairs)
    rundir.write_json(FILE, header.to_json())


def _today() -> date:
    return datetime.now(UTC).date()
