"""What the ranks of a group that trained together show: what is wrong, and which ranks it singles out. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from math import isfinite
from statistics import fmean
from typing import TYPE_CHECKING

from clusterctl.core.gates.judging.direction import LOWER_IS_BETTER
from clusterctl.core.gates.judging.peers import FAIL, standings
from clusterctl.core.parsers.training_proxy import COMPUTE, tenth_of
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome
from clusterctl.model.running_text import first_of
from clusterctl_tools.training_proxy import RESUMED, WHOLE

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    from clusterctl.model.gate_result import Sample
    from clusterctl_tools.training_proxy import RankRun, TrainingRun

_SHOWN = 5
_OF_ITS_RANKS = frozenset({GateReason.LOSS_NOT_FINITE, GateReason.RANKS_DIFFER, GateReason.RANK_SLOW})
_SOURCE = "training_proxy.py of the burn-in"
# Fewer equal GPUs have no median that one of them does not move.
_LEAST_RANKS = 3


@dataclass(frozen=True, slots=True)
class TrainingGroup:
    """The whole outputs of all nodes of one run, in the order of the nodes.

    Attributes:
        blank: a passing result of the gate, without a node.
        samples: node -> the times of its ranks.
        falls: share of the first loss; slower, suspect: shares of the median of equal GPUs; resume_tolerance: share of a loss.
    """

    blank: GateResult
    outputs: Mapping[str, TrainingRun]
    samples: Mapping[str, Sequence[Sample]]
    falls: float
    slower: float
    suspect: float
    resume_tolerance: float

    def ranks(self, run: str) -> list[tuple[str, RankRun]]:
        """Node and rank of one start."""
        return [(name, rank) for name, output in self.outputs.items() for rank in output.of(run)]

    def losses(self) -> tuple[float | None, ...]:
        """Of the first rank, in the whole training."""
        return self.ranks(WHOLE)[0][1].losses


@dataclass(frozen=True, slots=True)
class TrainingFault:
    """A result without a node, and node and GPU of the ranks that it names; empty where it is of all."""

    result: GateResult
    ranks: tuple[tuple[str, int], ...] = ()

    @property
    def nodes(self) -> tuple[str, ...]:
        """Of those ranks."""
        return tuple(dict.fromkeys(name for name, _ in self.ranks))

    @property
    def of_ranks(self) -> tuple[GateResult, ...]:
        """A result for each rank that it names, with its node and its GPU."""
        return tuple(replace(self.result, node=name, device=f"gpu{gpu}") for name, gpu in self.ranks)


def training_faults(group: TrainingGroup) -> tuple[TrainingFault, ...]:
    """What is wrong with the training, one for each rule. Losses that are not numbers cannot be judged."""
    if fault := _not_finite(group):
        return (fault,)
    found = (_differing_ranks(group), _not_falling(group), _slow_ranks(group), _resumed_otherwise(group))
    return tuple(fault for fault in found if fault)


def confirmed(result: GateResult, again: Sequence[GateResult]) -> GateResult:
    """What the ranks of a node show in a run, as its own fault where the others trained again without it and nothing was wrong.

    What ends a run early may have been an accident, and stays *could not run*.
    """
    others = {r.node for r in again} & set(result.peers) - {result.node}
    if not (result.device and result.reason in _OF_ITS_RANKS and others) or any(
        r.outcome not in (Outcome.PASS, Outcome.WARN) for r in again
    ):
        return result
    return replace(result, outcome=Outcome.FAIL, detail=f"{result.detail}; without it nothing is wrong on the other {len(others)} nodes")


def loss_text(group: TrainingGroup) -> str:
    """How the loss fell."""
    first, last = _ends(group)
    return f"loss {first:.3g} to {last:.3g} in {len(group.losses())} steps on {len(group.ranks(WHOLE))} ranks"


def _not_finite(group: TrainingGroup) -> TrainingFault | None:
    """The ranks whose own loss or gradients were the first that were not finite; those of all others follow from the sum."""
    bad = [(name, rank, rank.bad_step) for run in (WHOLE, RESUMED) for name, rank in group.ranks(run) if rank.bad_step is not None]
    if bad:
        step = min(at for _, _, at in bad)
        first = {(name, rank.gpu) for name, rank, at in bad if at == step}
        return _fault(group, "finite", GateReason.LOSS_NOT_FINITE, first, f"loss or gradients of step {step} are not finite")
    if any(loss is None for run in (WHOLE, RESUMED) for _, rank in group.ranks(run) for loss in rank.losses):
        return _fault(group, "finite", GateReason.LOSS_NOT_FINITE, set(), "the sum of finite losses is not finite")
    return None


def _differing_ranks(group: TrainingGroup) -> TrainingFault | None:
    """Ranks without the majority's results: of a batch that is the same for all among equal GPUs, then of the sum and the weights among all."""
    ranks = [(name, rank) for run in (WHOLE, RESUMED) for name, rank in group.ranks(run)]
    for what, values in (
        ("the gradients of the same batch", [((r.run, r.kind), r.probes) for _, r in ranks]),
        ("the losses after the sum over all ranks", [((r.run,), r.losses) for _, r in ranks]),
        ("the weights after the last step", [((r.run,), r.weights) for _, r in ranks]),
    ):
        counts: dict[Hashable, Counter[Hashable]] = {}
        for kind, value in values:
            counts.setdefault(kind, Counter())[value] += 1
        apart = [(counts[kind], value, one) for (kind, value), one in zip(values, ranks, strict=True) if len(counts[kind]) > 1]
        if apart:
            named = {
                (name, r.gpu) for own, value, (name, r) in apart if 2 * max(own.values()) > own.total() and own[value] < max(own.values())
            }
            return _fault(group, "equal", GateReason.RANKS_DIFFER, named, f"{what} differ between ranks")
    return None


def _not_falling(group: TrainingGroup) -> TrainingFault | None:
    first, last = _ends(group)
    if last <= (1 - group.falls) * first:
        return None
    found = _fault(group, "loss", GateReason.LOSS_NOT_FALLING, set(), f"the loss went from {first:.3g} to {last:.3g}")
    return replace(
        found, result=replace(found.result, value=last, limit=(1 - group.falls) * first, expected=f"<= {(1 - group.falls) * first:.3g}")
    )


def _slow_ranks(group: TrainingGroup) -> TrainingFault | None:
    """By their own time, without waiting: a slow rank makes all others wait, so their waiting is not evidence. A warning where none is beyond the limit."""
    kinds = {(name, f"gpu{rank.gpu}"): rank.kind for name, rank in group.ranks(WHOLE)}
    times = {(name, s.device): s.value for name, own in group.samples.items() for s in own if s.metric == COMPUTE}
    found = standings(times, kinds, _LEAST_RANKS, LOWER_IS_BETTER)
    outcomes = {key: one.outcome_at((FAIL[0], group.slower), (FAIL[0], group.suspect)) for key, one in found.items()}
    held = Outcome.FAIL if Outcome.FAIL in outcomes.values() else Outcome.WARN
    slow = {key: found[key] for key, outcome in outcomes.items() if outcome is held}
    if not slow:
        return None
    key = max(slow, key=lambda k: times[k] / slow[k].median)
    text = f"{key[0]} {key[1]} computes for {times[key]:.4g} ms a step, {slow[key].text('ms')}"
    fault = _fault(group, "slow_rank", GateReason.RANK_SLOW, {(name, int(gpu.removeprefix("gpu"))) for name, gpu in slow}, text)
    limit = slow[key].median * (1 + (group.slower if held is Outcome.FAIL else group.suspect))
    result = replace(fault.result, value=times[key], limit=limit, unit="ms", expected=f"<= {limit:.4g} ms")
    return replace(fault, result=result if held is Outcome.FAIL else replace(result, outcome=Outcome.WARN))


def _resumed_otherwise(group: TrainingGroup) -> TrainingFault | None:
    """The losses after the checkpoint against those of the training that was not interrupted."""
    whole = group.losses()
    for _, rank in group.ranks(RESUMED)[:1]:
        for step, (again, once) in enumerate(zip(rank.losses, whole[rank.start :], strict=True), rank.start):
            if abs((again or 0.0) - (once or 0.0)) > group.resume_tolerance * abs(once or 0.0):
                text = f"resumed from the checkpoint of step {rank.start}, the loss of step {step} is {again}, and was {once}"
                return _fault(group, "resume", GateReason.RESUME_DIFFERS, set(), text)
    return None


def _ends(group: TrainingGroup) -> tuple[float, float]:
    """The mean loss of the first tenth of all steps, and of the last."""
    losses = [loss for loss in group.losses() if loss is not None and isfinite(loss)]
    count = tenth_of(len(losses))
    return fmean(losses[:count]), fmean(losses[-count:])


def _fault(group: TrainingGroup, rule: str, reason: GateReason, ranks: set[tuple[str, int]], found: str) -> TrainingFault:
    """A fault that names ranks, unless those are most of them."""
    named = sorted(ranks) if 2 * len(ranks) <= len(group.ranks(WHOLE)) else []
    shown = first_of([f"{name} gpu{gpu}" for name, gpu in named], _SHOWN)
    result = replace(
        group.blank,
        outcome=Outcome.COULD_NOT_RUN,
        rule=rule,
        metric=rule,
        reason=reason,
        found=found,
        source=_SOURCE,
        detail=f"{found}; suspect: {shown}" if shown else f"{found}; it singles out no rank",
    )
    return TrainingFault(result, tuple(named))


def figures(group: TrainingGroup) -> Iterator[Sample]:
    """The times of the group: each is that of the rank where it is longest."""
    worst: dict[str, Sample] = {}
    for own in group.samples.values():
        for sample in own:
            if sample.metric not in worst or sample.value > worst[sample.metric].value:
                worst[sample.metric] = sample
    yield from (replace(sample, device="") for sample in worst.values())
