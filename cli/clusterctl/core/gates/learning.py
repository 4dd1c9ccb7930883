"""Floors from what good nodes of a class measured. Pure; a proposal is no baseline until a person writes it into a profile."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import pairwise
from math import floor
from statistics import median
from typing import TYPE_CHECKING

from clusterctl.core.gates.gate import Scope
from clusterctl.core.gates.judging.limits import floors, limit_text
from clusterctl.core.gates.judging.peers import spread_of
from clusterctl.core.gates.registry import gate_named
from clusterctl.model.gate_result import Baseline, BaselineKind, GateResult
from clusterctl_validators.finding import GOOD

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

    from clusterctl.core.gates.subject import Subject

# Fewer nodes are no class.
LEAST_NODES = 20
# A floor is at most this share of the median, and six spreads below it.
_SHARE, _SPREADS = 0.95, 6.0
# Two classes under one name: a gap of 3 % between values, with a tenth of the nodes on either side.
_GAP, _SIDE = 0.03, 0.1
_HOLDS_FOR = timedelta(days=365)


@dataclass(frozen=True, slots=True)
class Learned:
    """What a class of nodes measured for one floor of their profile.

    Attributes:
        nodes: node -> its lowest value; median, spread (the median absolute deviation as a share of the median, 0.5 % at least): 0 without any value.
        proposal: the floor that the values support; None where there is none to propose.
        why_not: why there is none, for people.
    """

    floor: Baseline
    nodes: Mapping[str, float]
    median: float = 0.0
    spread: float = 0.0
    proposal: Baseline | None = None
    why_not: str = ""


def learn_floors(subjects: Sequence[Subject], results: Mapping[str, Sequence[GateResult]], today: date) -> tuple[Learned, ...]:
    """For each floor of nodes and pairs that the profiles of `subjects` declare, what those of them that pass its gate measured.

    A value of a group is none of its nodes', so floors of groups are left out.
    """
    declared: dict[str, tuple[Baseline, list[Subject]]] = {}
    for subject in subjects:
        for entry in floors(subject.profile.baselines):
            if gate_named(entry.gate).scope in (Scope.NODE, Scope.PAIR):
                declared.setdefault(repr(entry), (entry, []))[1].append(subject)
    found = []
    for entry, having in declared.values():
        values = {s.name: value for s in having if (value := _value(entry, results.get(s.name, ()))) is not None}
        simulated = any(r.simulated for name in values for r in results[name] if r.gate == entry.gate)
        found.append(_learned(entry, values, _line_rate(entry, having), today, "simulated: " if simulated else ""))
    return tuple(found)


def _value(entry: Baseline, results: Sequence[GateResult]) -> float | None:
    """The lowest value of a node that passes the gate."""
    own = [r for r in results if r.gate == entry.gate]
    if not own or any(r.outcome not in GOOD for r in own):
        return None
    figures = [r for r in own if (r.metric, r.unit, r.limit, r.source) == (entry.metric, entry.unit, entry.limit, entry.source)]
    return min((r.value for r in figures if r.value is not None), default=None)


def _line_rate(entry: Baseline, having: Sequence[Subject]) -> float | None:
    gate = gate_named(entry.gate)
    rates = [gate.line_rate(entry, s.profile.settings_of(gate), s.hcas, s.gpus) for s in having]
    return min((rate for rate in rates if rate is not None), default=None)


def _learned(entry: Baseline, values: Mapping[str, float], line_rate: float | None, today: date, label: str) -> Learned:
    if not values:
        return Learned(entry, values, why_not="no node of the class has passed the gate")
    middle = median(values.values())
    spread = spread_of(list(values.values()), middle)
    found = Learned(entry, values, middle, spread / middle)
    if len(values) < LEAST_NODES:
        return replace(found, why_not=f"{len(values)} nodes passed, {LEAST_NODES} are needed")
    if low := _lower_cluster(values, middle):
        names = ", ".join(sorted(low)[:4]) + (f" and {len(low) - 4} more" if len(low) > 4 else "")  # noqa: PLR2004 a line's length
        text = f"{len(low)} of {len(values)} nodes are a cluster of their own below {limit_text(middle)} {entry.unit}: {names}; repair them, or give them a profile"
        return replace(found, why_not=text)
    value = floor(10 * min(_SHARE * middle, middle - _SPREADS * spread, line_rate or middle)) / 10
    if value <= entry.limit:
        return replace(found, why_not=f"the floor in force is as high: {limit_text(entry.limit)} {entry.unit}")
    proposal = replace(
        entry,
        kind=BaselineKind.FLOOR,
        value=value,
        tolerance_percent=0.0,
        source=f"{label}clusterctl baseline learn: median {limit_text(middle)} of {len(values)} nodes; above {entry.source}",
        date=today.isoformat(),
        expires=(today + _HOLDS_FOR).isoformat(),
        n=len(values),
        spread=round(spread / middle, 4),
        reason="",
    )
    return replace(found, proposal=proposal)


def _lower_cluster(values: Mapping[str, float], middle: float) -> frozenset[str]:
    """The nodes below a gap that splits the class; empty where it is one."""
    order = sorted(values, key=lambda name: values[name])
    width, place = max((values[b] - values[a], i) for i, (a, b) in enumerate(pairwise(order), 1))
    least = _SIDE * len(order)
    return frozenset(order[:place]) if width > _GAP * middle and least <= place <= len(order) - least else frozenset()
