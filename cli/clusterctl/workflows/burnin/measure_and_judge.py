"""Burn-in of a set of nodes: measure, judge, and let only nodes that did well take part in what needs them all."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from clusterctl.core.gates.gate import Scope
from clusterctl.core.gates.gates_profile import profile_of
from clusterctl.core.gates.judging.judge import judge, not_passed
from clusterctl.core.gates.planning.coverage import coverage
from clusterctl.core.gates.planning.gate_plan import GatePlan, plan_gates
from clusterctl.core.gates.planning.header import FILE, header_of
from clusterctl.core.gates.registry import gate_named, gate_names
from clusterctl.core.gates.subject import Subject, subject_of
from clusterctl.model.errors import ConfigError
from clusterctl.model.level import LEVELS, Level
from clusterctl.workflows.burnin.measure import measure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from clusterctl.adapters.config import Config
    from clusterctl.adapters.run_directory import RunDir
    from clusterctl.core.gates.planning.step import Obstacle
    from clusterctl.model.gate_result import GateResult, RawRecord
    from clusterctl.model.node import Node
    from clusterctl.model.task_event import TaskEvent


@dataclass(frozen=True, slots=True)
class _Burnin:
    nodes: tuple[Node, ...]
    partners: tuple[Node, ...]
    level: Level
    gates: tuple[str, ...]
    subjects: tuple[Subject, ...]


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
    chosen = [gate_named(name).name for name in gates or gate_names()]
    judged = {n.name for n in nodes}
    others = tuple(p for p in partners if p.name not in judged)
    today = _today()
    subjects = (*(subject_of(n, today) for n in nodes), *(subject_of(n, today, partner=True) for n in others))
    work = _Burnin(tuple(nodes), others, level_named(level), tuple(g for g in gate_names() if g in chosen), subjects)
    late = tuple(g for g in gate_names(Scope.GROUP) if g in work.gates)
    early = tuple(g for g in work.gates if g not in late)
    plan = plan_gates(subjects, work.level, early)
    impossible: dict[tuple[str, str], Obstacle] = {**plan.impossible}
    _write_header(work, rundir, plan, impossible)
    records: tuple[RawRecord, ...] = measure(plan, rundir, config, "nodes", on_event) if early else ()
    results = judge(subjects, records, level=work.level, gates=early, impossible=plan.impossible)
    if late:
        bad = not_passed(results)
        second = plan_gates([s for s in subjects if s.name not in bad], work.level, late)
        impossible |= second.impossible
        _write_header(work, rundir, plan, impossible)
        records = (*records, *measure(second, rundir, config, "group", on_event))
        results = judge(subjects, records, level=work.level, gates=work.gates, impossible=impossible)
    rundir.write_json("gates/results.json", {"schema_version": 1, "results": [asdict(r) for r in results]})
    return results


def _write_header(work: _Burnin, rundir: RunDir, plan: GatePlan, impossible: Mapping[tuple[str, str], Obstacle]) -> None:
    pairs = coverage((*work.nodes, *work.partners), plan) if set(gate_names(Scope.PAIR)) & set(work.gates) else None
    header = header_of(work.level, work.gates, work.nodes, work.partners, impossible=impossible, pairs=pairs)
    rundir.write_json(FILE, header.to_json())


def _today() -> date:
    return datetime.now(UTC).date()
