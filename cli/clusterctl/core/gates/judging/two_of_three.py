"""A node that was measured three times: a figure fails only where two of three measurements fail, everything else at once. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clusterctl.core.gates.judging.two_of_two import Place, is_low_figure
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import Outcome
from clusterctl_validators.finding import GOOD

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clusterctl.model.gate_result import GateResult

_FINE_ENOUGH = 2


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """One of three: its results, and all its figures with their units, for people."""

    results: Sequence[GateResult]
    figures: Mapping[Place, str]

    @property
    def low(self) -> frozenset[Place]:
        """What is too low in it."""
        return frozenset((r.metric, r.device) for r in self.results if is_low_figure(r))


def two_of_three(runs: Sequence[JudgedRun]) -> Iterator[GateResult]:
    """The results of a node from all its measurements, the first one first.

    What is low in one of them is a warning only if two others are fine: one without a figure denies nothing. Whatever else any of them finds counts.
    """
    seen: set[tuple[object, ...]] = set()
    for number, run in enumerate(runs):
        for result in run.results:
            if number and result.outcome in GOOD and (result.outcome is not Outcome.WARN or result.reason is GateReason.BELOW_PEERS):
                continue
            key = (result.metric, result.device) if is_low_figure(result) else (result.rule, result.device, result.reason)
            if number and key in seen:
                continue
            seen.add(key)
            yield _decided(result, runs) if is_low_figure(result) else result


def _decided(result: GateResult, runs: Sequence[JudgedRun]) -> GateResult:
    place = (result.metric, result.device)
    fine = sum(place in run.figures and place not in run.low for run in runs)
    figures = ", ".join(run.figures.get(place, "no figure") for run in runs)
    text = f"measured {len(runs)} times: {figures}"
    return replace(
        result,
        outcome=Outcome.FAIL if fine < _FINE_ENOUGH else Outcome.WARN,
        detail="; ".join(filter(None, (result.detail, text))),
    )
