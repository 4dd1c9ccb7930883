"""A node that was measured twice: a figure fails only where both measurements fail, everything else at once. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from clusterctl.core.gates.judging.own_history import is_low
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import Outcome
from clusterctl_validators.finding import GOOD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from clusterctl.model.gate_result import Figure, GateResult
    from clusterctl.model.own_history import HistoryKey

# metric and device
Place = tuple[str, str]
P = TypeVar("P")

_FIGURES = frozenset({GateReason.BELOW_FLOOR, GateReason.BELOW_PEERS})


def is_low_figure(result: GateResult) -> bool:
    """Whether a result fails for a figure: what a busy moment can lower, and a second measurement can deny."""
    return result.outcome is Outcome.FAIL and result.reason in _FIGURES


def needs_repeat(results: Sequence[GateResult], usual: Mapping[HistoryKey, float] | None = None) -> bool:
    """Whether the results of a node hold it back for figures and nothing else, or are far below what its devices usually read: a node that fails anyway is not measured again."""
    bad = [r for r in results if r.outcome not in GOOD]
    return all(map(is_low_figure, bad)) and (bool(bad) or any(is_low(r, usual or {}) for r in results))


def of_device(result: GateResult) -> Place:
    """The place of a figure that each device has."""
    return result.metric, result.device


def of_device_or_figure(first: Sequence[GateResult], again: Sequence[GateResult]) -> Callable[[GateResult], tuple[Figure, str]]:
    """Figure and device where a device is low in both measurements; else a figure that is low in both has one place, whichever device was lowest."""
    low, low_again = ({(r.figure, r.device) for r in own if is_low_figure(r)} for own in (first, again))
    figures = {figure for figure, _ in low & low_again}
    return lambda result: (result.figure, result.device if result.figure in figures else "")


def two_of_two(
    first: Sequence[GateResult],
    again: Sequence[GateResult],
    *,
    at_first: Mapping[P, str],
    repeated: Mapping[P, str],
    place_of: Callable[[GateResult], P],
) -> Iterator[GateResult]:
    """The results of a node from both its measurements; `at_first`, `repeated`: the figures of each with their units, for people.

    What is low in one of two is a warning with both figures. A repeat without a figure denies nothing. Whatever else a repeat finds counts as in any other measurement.
    """
    low = {place_of(r) for r in first if is_low_figure(r)}
    low_again = {place_of(r) for r in again if is_low_figure(r)}

    def once(result: GateResult) -> GateResult:
        figures = (known.get(place_of(result), "no figure") for known in (at_first, repeated))
        text = "{} at first, {} when it was repeated: one of two".format(*figures)
        return replace(_with(result, text), outcome=Outcome.WARN)

    for result in first:
        place = place_of(result)
        if not is_low_figure(result):
            yield result
        elif place not in repeated:
            yield _with(result, "the repeat gave no figure")
        elif place in low_again:
            yield _with(result, f"also when it was repeated, {repeated[place]}")
        else:
            yield once(result)
    known = {_kind(r) for r in first if r.outcome is Outcome.WARN}
    for result in again:
        if is_low_figure(result):
            yield from (once(result),) if place_of(result) not in low else ()
        elif result.outcome not in GOOD or (
            result.outcome is Outcome.WARN and result.reason not in _FIGURES and _kind(result) not in known
        ):
            yield result


def _kind(result: GateResult) -> tuple[str, str]:
    return result.rule, result.device


def _with(result: GateResult, text: str) -> GateResult:
    return replace(result, detail="; ".join(filter(None, (result.detail, text))))
