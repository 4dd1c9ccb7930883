"""Nodes + level -> what every node runs, when, with which peers. Pure: the same input gives the same plan."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, Any

from clusterctl.core.gates.gate import Scope
from clusterctl.core.gates.gate_class import raised_while_planned
from clusterctl.core.gates.group_gate import GroupGate
from clusterctl.core.gates.judging.evidence import Evidence
from clusterctl.core.gates.pair_gate import PairGate
from clusterctl.core.gates.planning.devices import gpu_vendor_of
from clusterctl.core.gates.planning.group_steps import REST, search_rung
from clusterctl.core.gates.planning.step import BurnInPart, GateStep, GateSteps, Obstacle, Rendezvous
from clusterctl.core.gates.registry import all_gates, gate_named
from clusterctl.model.errors import ClusterctlError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clusterctl.core.gates.gate import Gate
    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import RawRecord
    from clusterctl.model.level import Level
    from clusterctl.model.own_history import HistoryKey

# The second stage of the part of nodes and pairs.
SECOND = "again"


@dataclass(frozen=True, slots=True)
class GatePlan:
    """The steps of every node.

    Attributes:
        impossible: (gate, node) -> why nothing can be measured there.
        rendezvous: how the agents of all nodes find each other.
        gpu_vendors: node -> the vendor of its GPUs.
        nvlink_groups: node -> addresses of all nodes whose GPUs its own are joined to over NVLink; processes there need IMEX and a channel of it.
    """

    level: Level
    gates: tuple[str, ...]
    steps: Mapping[str, tuple[GateStep, ...]]
    impossible: Mapping[tuple[str, str], Obstacle]
    gpu_vendors: Mapping[str, str]
    rendezvous: Rendezvous = Rendezvous()  # noqa: RUF009 frozen
    nvlink_groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def busy(self) -> tuple[str, ...]:
        """The nodes that run something, or have to be prepared for what another one runs."""
        return tuple(name for name, steps in self.steps.items() if steps or name in self.nvlink_groups)

    @property
    def limit_s(self) -> int:
        """The longest a node may take: all its batches at their time limits, twice waiting for peers, and a margin."""
        return max((_longest(s) for s in self.steps.values()), default=0) + 2 * self.rendezvous.peer_wait_s + 60


def part_name(part: BurnInPart, rung: str = "") -> str:
    """The name of a part of the burn-in, and of a rung of its ladder other than the last."""
    return f"{part}.{rung}" if rung else part


def _longest(steps: Sequence[GateStep]) -> int:
    longest: dict[int, int] = {}
    for step in steps:
        longest[step.batch] = max(longest.get(step.batch, 0), step.timeout_s)
    return sum(longest.values())


def plan_gates(
    subjects: Sequence[Subject],
    level: Level,
    gates: Sequence[str],
    part: BurnInPart = BurnInPart.NODES,
    rung: str = "",
    *,
    seed: str = "",
) -> GatePlan:
    """Plan the gates of a part, for the nodes to judge and their partners alike, each gate for the nodes whose profile has it at this level.

    `rung` is that of the ladder of group gates; empty for the last one. `seed` chooses the pairs of pair gates. A gate of the whole burn-in frames the others:
    it opens the first part and closes every part.

    Raises:
        ConfigError: a gate is unknown, or the ports of the pair schedule do not fit below 65536.
    """
    chosen = {gate_named(name) for name in gates}
    steps: dict[str, list[GateStep]] = {s.name: [] for s in subjects}
    impossible: dict[tuple[str, str], Obstacle] = {}
    nvlink_groups: dict[str, tuple[str, ...]] = {}
    meetings: list[Rendezvous] = []
    batches = count()
    frames = [g for g in all_gates() if g in chosen and g.scope is Scope.BURN_IN]
    opening = frames if part is BurnInPart.NODES else []
    for gate in (*opening, *(g for g in all_gates() if g in chosen and g not in frames)):
        taking = [s for s in subjects if gate.name in s.profile.levels[level]]
        if not taking:
            continue
        planned = _steps_of(gate, taking, level, batches, rung=rung, seed=seed)
        for name, own in planned.steps.items():
            steps[name] += own
        impossible |= {(gate.name, name): obstacle for name, obstacle in planned.obstacles.items()}
        nvlink_groups |= planned.nvlink_groups
        meetings += [planned.rendezvous] if planned.rendezvous else []
    for gate in frames:
        taking = [s for s in subjects if gate.name in s.profile.levels[level]]
        for name, step in gate.closing_steps(taking, level, batches, part_name(part, rung)).items():
            steps[name].append(step)
    taken = {name: tuple(own) for name, own in steps.items()}
    return GatePlan(level, tuple(gates), taken, impossible, _vendors(subjects), meetings[0] if meetings else Rendezvous(), nvlink_groups)


def _vendors(subjects: Sequence[Subject]) -> dict[str, str]:
    return {s.name: gpu_vendor_of(s.node) for s in subjects}


def _steps_of(gate: Gate[Any], taking: Sequence[Subject], level: Level, batches: Iterator[int], *, rung: str, seed: str) -> GateSteps:
    """The steps of one gate; none of a group gate whose ladder has no such rung."""
    try:
        if rung and isinstance(gate, GroupGate):
            return gate.plan_rung(taking, level, batches, rung) if rung in (*gate.rungs(taking, level), REST) else GateSteps({})
        if isinstance(gate, PairGate):
            return gate.plan_pairs(taking, level, batches, seed)
        return gate.plan(taking, level, batches)
    except ClusterctlError:
        raise
    except Exception as e:  # the code of a site's gate may raise anything
        raise raised_while_planned(gate, e) from e


def plan_again(
    subjects: Sequence[Subject],
    records: Sequence[RawRecord],
    level: Level,
    gates: Sequence[str],
    *,
    seed: str,
    usual: Mapping[HistoryKey, float] | None = None,
) -> GatePlan:
    """Plan what is measured again, from the records of the first stage. It ends with its own snapshots.

    Gates of pairs: suspects with proven partners. Gates of pairs and of nodes: what is far below `usual`, the device's own earlier runs. Other gates: what they request.

    Raises:
        ConfigError: as `plan_gates`.
    """
    planned: list[GateSteps] = []
    batches = count()
    for gate, taking, measured in _measured(subjects, records, level, gates):
        evidence = replace(_with_versions(gate, measured), usual=usual or {})
        if isinstance(gate, PairGate):
            planned.append(gate.plan_pairs_again(taking, evidence, batches, seed))
        else:
            planned.append(_repeats(gate, taking, evidence, batches))
    return _further(subjects, level, gates, planned, batches, part=part_name(BurnInPart.NODES, SECOND))


def _repeats(gate: Gate[Any], taking: Sequence[Subject], evidence: Evidence, batches: Iterator[int]) -> GateSteps:
    try:
        return gate.plan_again(taking, evidence, batches)
    except ClusterctlError:
        raise
    except Exception as e:  # the code of a site's gate may raise anything
        raise raised_while_planned(gate, e) from e


def plan_search(
    subjects: Sequence[Subject], records: Sequence[RawRecord], level: Level, gates: Sequence[str], *, rung: str, number: int
) -> GatePlan:
    """Plan level `number` of the searches in the bad groups of a rung, from all records so far; nobody runs anything at their end."""
    planned: list[GateSteps] = []
    batches = count()
    for gate, taking, evidence in _measured(subjects, records, level, gates):
        if isinstance(gate, GroupGate):
            planned.append(gate.plan_search(taking, _with_versions(gate, evidence), batches, rung, number))
    return _further(subjects, level, gates, planned, batches, part=part_name(BurnInPart.GROUP, search_rung(rung, number)))


def _measured(
    subjects: Sequence[Subject], records: Sequence[RawRecord], level: Level, gates: Sequence[str]
) -> Iterator[tuple[Gate[Any], Sequence[Subject], Evidence]]:
    """The gates that have records, with the nodes that they are for."""
    chosen = {gate_named(name) for name in gates}
    for gate in (g for g in all_gates() if g in chosen):
        own = [r for r in records if r.gate == gate.name]
        if own:
            yield gate, [s for s in subjects if gate.name in s.profile.levels[level]], Evidence({s.name: s for s in subjects}, own, level)


def _with_versions(gate: Gate[Any], evidence: Evidence) -> Evidence:
    """Each record with the version that its output names, as in the judgement."""
    try:
        return gate.with_versions(evidence)
    except ClusterctlError:
        raise
    except Exception as e:  # the code of a site's gate may raise anything
        raise raised_while_planned(gate, e) from e


def _further(
    subjects: Sequence[Subject], level: Level, gates: Sequence[str], planned: Sequence[GateSteps], batches: Iterator[int], *, part: str
) -> GatePlan:
    """A part for the nodes that have something to run, with the snapshots of the gates of the whole burn-in at its end."""
    steps: dict[str, list[GateStep]] = {s.name: [] for s in subjects}
    for one in planned:
        for name, more in one.steps.items():
            steps[name] += more
    busy = [s for s in subjects if steps[s.name]]
    chosen = {gate_named(name) for name in gates}
    for gate in (g for g in all_gates() if busy and g in chosen and g.scope is Scope.BURN_IN):
        framed = [s for s in busy if gate.name in s.profile.levels[level]]
        for name, step in gate.closing_steps(framed, level, batches, part).items():
            steps[name].append(step)
    taken = {name: tuple(own) for name, own in steps.items()}
    meetings = [one.rendezvous for one in planned if one.rendezvous]
    joined = {name: group for one in planned for name, group in one.nvlink_groups.items()}
    return GatePlan(level, tuple(gates), taken, {}, _vendors(subjects), meetings[0] if meetings else Rendezvous(), joined)
