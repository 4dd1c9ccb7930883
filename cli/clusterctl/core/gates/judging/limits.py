"""Samples against floors and ceilings. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from clusterctl.core.gates.judging.direction import HIGHER_IS_BETTER, LOWER_IS_BETTER
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import Baseline, BaselineKind, DeviceValue, GateResult, Outcome
from clusterctl.model.running_text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.core.gates.judging.direction import Direction
    from clusterctl.model.gate_result import Sample


def limit_text(value: float, decimals: int = 1) -> str:
    """A number for people: so many decimals at most."""
    return f"{value:.{decimals}f}".removesuffix(f".{'0' * decimals}")


def applicable(baselines: Sequence[Baseline], nodes: int) -> tuple[Baseline, ...]:
    """The baselines for a run over `nodes` nodes: those for exactly that number win over those for a range or for any number."""
    exact = {_figure(b) for b in baselines if b.nodes == nodes}
    return tuple(b for b in baselines if b.holds_for(nodes) and (b.nodes == nodes or _figure(b) not in exact))


def _figure(baseline: Baseline) -> tuple[object, ...]:
    return (baseline.metric, baseline.size_bytes, baseline.op, baseline.kind)


def floors(baselines: Sequence[Baseline]) -> tuple[Baseline, ...]:
    """Those that a measurement must reach: floors, and expectations with a tolerance."""
    return tuple(b for b in baselines if b.kind is BaselineKind.FLOOR or (b.kind is BaselineKind.EXPECTED and b.tolerance_percent))


def upper_limits(baselines: Sequence[Baseline]) -> tuple[Baseline, ...]:
    """Those that a measurement must not exceed, because it is better the lower it is."""
    return tuple(b for b in baselines if b.kind is BaselineKind.UPPER_LIMIT)


def deciding(baselines: Sequence[Baseline], direction: Direction) -> tuple[Baseline, ...]:
    """Those that decide about figures of a direction."""
    return floors(baselines) if direction.higher_is_better else upper_limits(baselines)


def compare_with_limits(
    gate: str, node: str, samples: Sequence[Sample], baselines: Sequence[Baseline], *, nodes: int
) -> tuple[GateResult, ...]:
    """A result for every limit that applies, without hints.

    A measurement above a ceiling is a measuring error: it could not run, and passes no floor either.
    """
    chosen = applicable(baselines, nodes)
    errors = [r for b in chosen if b.kind is BaselineKind.CEILING for r in _above(node, b, _of(samples, b))]
    limits = (*floors(chosen), *upper_limits(chosen))
    if not limits:
        detail = f"the profile has no floor that holds for {counted(nodes, 'node')}"
        return (GateResult(gate, node, Outcome.COULD_NOT_RUN, "baseline", detail=detail, reason=GateReason.NO_BASELINE), *errors)
    broken = {r.metric for r in errors}
    return (*errors, *(r for b in limits if b.metric not in broken for r in _against_limit(node, b, _of(samples, b))))


def _of(samples: Sequence[Sample], baseline: Baseline) -> tuple[Sample, ...]:
    return tuple(
        s
        for s in samples
        if s.metric == baseline.metric
        and s.unit == baseline.unit
        and not s.status
        and (baseline.size_bytes is None or s.size_bytes == baseline.size_bytes)
        and (not baseline.op or s.op == baseline.op)
    )


def _above(node: str, baseline: Baseline, samples: Sequence[Sample]) -> tuple[GateResult, ...]:
    top = max(samples, key=lambda s: s.value, default=None)
    if top is None or top.value <= baseline.value:
        return ()
    found, limit = f"{limit_text(top.value)} {baseline.unit}", f"<= {limit_text(baseline.value)} {baseline.unit}"
    return (
        GateResult(
            gate=baseline.gate,
            node=node,
            outcome=Outcome.COULD_NOT_RUN,
            rule="ceiling",
            metric=baseline.metric,
            expected=limit,
            found=found,
            device=top.device,
            source=baseline.source,
            detail=f"{baseline.metric} {found} is above what the hardware can do ({limit}): a measuring error",
            reason=GateReason.ABOVE_CEILING,
            value=top.value,
            limit=baseline.value,
            unit=baseline.unit,
            op=baseline.op,
            size_bytes=baseline.size_bytes,
        ),
    )


def _against_limit(node: str, baseline: Baseline, samples: Sequence[Sample]) -> tuple[GateResult, ...]:
    direction = LOWER_IS_BETTER if baseline.kind is BaselineKind.UPPER_LIMIT else HIGHER_IS_BETTER
    result = GateResult(
        gate=baseline.gate,
        node=node,
        outcome=Outcome.COULD_NOT_RUN,
        rule=direction.rule,
        metric=baseline.metric,
        expected=f"{direction.sign} {limit_text(baseline.limit)} {baseline.unit}",
        source=baseline.source,
        limit=baseline.limit,
        unit=baseline.unit,
        op=baseline.op,
        size_bytes=baseline.size_bytes,
    )
    if not samples:
        at = f" at {baseline.size_bytes} bytes" if baseline.size_bytes else ""
        of = f" of {baseline.op}" if baseline.op else ""
        return (replace(result, detail=f"the output has no {baseline.metric}{of}{at}", reason=GateReason.INCOMPLETE),)
    worst: dict[str, float] = {}
    for sample in samples:
        worst[sample.device] = min(sample.value, worst.get(sample.device, sample.value), key=direction.rank)
    bad = _bad_devices([s for s in samples if not direction.reaches(s.value, baseline.limit)], direction)

    def measured(value: float, outcome: Outcome, **more: Any) -> GateResult:
        return replace(result, outcome=outcome, found=f"{limit_text(value)} {baseline.unit}", value=value, **more)

    if not bad:
        device = min(worst, key=lambda name: (direction.rank(worst[name]), name))
        of_two = any(s.peer_device for s in samples)  # one number cannot show which of both is slow
        each = () if of_two or len(worst) == 1 else tuple(DeviceValue(name, worst[name]) for name in sorted(worst))
        return (measured(worst[device], Outcome.PASS, device="" if of_two else device, by_device=each),)
    return tuple(measured(value, Outcome.FAIL, device=device, reason=direction.reason) for device, value in sorted(bad.items()))


def _bad_devices(bad: Sequence[Sample], direction: Direction) -> dict[str, float]:
    """Device -> its worst number. Of a number between two, the one that is in most of the bad ones is named, and not those that it is bad with; one pair alone names its first."""
    found: dict[str, float] = {}
    left = list(bad)
    while left:
        counts = Counter(end for s in left for end in {s.device, s.peer_device or s.device})
        most = max(counts.values())
        device = next(end for s in left for end in (s.device, s.peer_device) if counts[end] == most)
        found[device] = min((s.value for s in left if device in (s.device, s.peer_device)), key=direction.rank)
        left = [s for s in left if device not in (s.device, s.peer_device)]
    return found
