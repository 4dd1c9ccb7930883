"""A fleet with bad HCAs, from the first stage's plan to the verdicts; only what a command would have printed is simulated."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from random import Random
from typing import TYPE_CHECKING

from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.planning.gate_plan import plan_again, plan_gates
from clusterctl.core.gates.subject import Subject, subject_of
from clusterctl.model.gate_reason import GateReason  # noqa: TC001
from clusterctl.model.gate_result import Outcome, RawRecord
from clusterctl.model.node import Place
from support.gates import TODAY, node, perftest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from clusterctl.core.gates.planning.gate_plan import GatePlan
    from clusterctl.core.gates.planning.step import GateStep
    from clusterctl.model.gate_result import GateResult

GATE = "rdma_pair"
LINE_RATE_GBPS = 400.0
# A healthy pair reads 98 % with 0.3 % of noise; a collision leaves 60 to 95 % of the line rate, which is not always below the floor of 90 %.
_HEALTHY, _SPREAD, _COLLIDED, _BAD = 0.98, 0.003, (0.60, 0.95), (0.30, 0.80)
_GATES = (GATE,)


@dataclass(frozen=True)
class Fleet:
    """Nodes `n0` to `n<count - 1>`, `per_leaf` at a leaf.

    Attributes:
        bad: nodes whose HCA of rail 0 is bad; noise: share of meetings between good ends that read low; hides: share of meetings in which a bad end reads well.
        low: a further reason why a meeting is low: from both nodes and the rail.
        leaves_per_spine: leaves below the same declared spine; 0 where none is declared.
    """

    count: int
    per_leaf: int = 32
    rails: int = 1
    bad: frozenset[str] = frozenset()
    noise: float = 0.03
    hides: float = 0.0
    low: Callable[[str, str, int], bool] = lambda _one, _other, _rail: False
    leaves_per_spine: int = 0

    def subjects(self) -> tuple[Subject, ...]:
        """All nodes, with one profile."""
        first = subject_of(node("n1", rails=self.rails), TODAY)
        return tuple(replace(first, node=replace(first.node, name=f"n{i}", place=self._place(i))) for i in range(self.count))

    def _place(self, number: int) -> Place:
        leaf = number // self.per_leaf
        spine = f"spine{leaf // self.leaves_per_spine}" if self.leaves_per_spine else ""
        return Place(leaf=f"leaf{leaf}", su=f"su{leaf // 8}", spine=spine)


@dataclass(frozen=True)
class Night:
    """One burn-in of a fleet.

    Attributes:
        runs: meetings of two nodes, of both stages; `suspects`: nodes that were measured again.
    """

    results: tuple[GateResult, ...]
    rounds: int
    runs: int
    suspects: int

    @property
    def marked_faulty(self) -> frozenset[str]:
        """The nodes with a bad device."""
        return frozenset(r.node for r in self.results if r.outcome is Outcome.FAIL)

    def with_reason(self, reason: GateReason) -> frozenset[str]:
        """The nodes with a result of that reason."""
        return frozenset(r.node for r in self.results if r.reason is reason)


def night_of(fleet: Fleet, subjects: Sequence[Subject], run: str) -> Night:
    """Both stages of a run and their verdicts."""
    first = plan_gates(subjects, "standard", _GATES, seed=run)
    records = records_of(fleet, first, run)
    second = plan_again(subjects, records, "standard", _GATES, seed=run)
    records += records_of(fleet, second, f"{run}-again")
    rounds = {s.round for plan in (first, second) for own in plan.steps.values() for s in own}
    retests = _meetings(second)
    results = judge(subjects, records, level="standard", gates=_GATES)
    return Night(results, len(rounds), len(_meetings(first)) + len(retests), len(retests) // 2)


def _meetings(plan: GatePlan) -> Collection[tuple[int, frozenset[str]]]:
    return {(s.round, frozenset((name, s.peer))) for name, own in plan.steps.items() for s in own}


def records_of(fleet: Fleet, plan: GatePlan, run: str) -> list[RawRecord]:
    """What the nodes would bring: one record per step, both directions of a meeting alike."""
    return [_record(name, step, _gbps(fleet, name, step, run)) for name, own in plan.steps.items() for step in own]


def _gbps(fleet: Fleet, name: str, step: GateStep, run: str) -> float:
    one, other = sorted((name, step.peer))
    rail = int(step.device.rpartition("_")[2])
    random = Random(f"{run} {one} {other} {step.round} {rail}")  # noqa: S311 a simulation
    faulty = [end for end in (one, other) if rail == 0 and end in fleet.bad and random.random() >= fleet.hides]
    if faulty or fleet.low(one, other, rail):
        return LINE_RATE_GBPS * random.uniform(*_BAD)
    if random.random() < fleet.noise:
        return LINE_RATE_GBPS * random.uniform(*_COLLIDED)
    return LINE_RATE_GBPS * min(1.0, random.gauss(_HEALTHY, _SPREAD))


@cache
def _output(tenths: int, device: str) -> str:
    return perftest(tenths / 10, device=device)


def _record(name: str, step: GateStep, gbps: float) -> RawRecord:
    return RawRecord(
        step.gate, step.name, step.tool, name, step.argv, "2026-01-15T00:00:00+00:00", 5.0, 0, _output(round(gbps * 10), step.device), "",
        device=step.device, peer=step.peer, peer_device=step.peer_device, simulated=True,
    )  # fmt: skip
