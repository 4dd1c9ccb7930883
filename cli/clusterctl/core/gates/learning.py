"""Floors from what good nodes of a class measured. Pure; a proposal is not a baseline until a person writes it into a profile."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import groupby
from math import ceil, floor, inf
from statistics import median
from typing import TYPE_CHECKING

from clusterctl.core.gates.gate import Scope
from clusterctl.core.gates.judging.limits import deciding, limit_text
from clusterctl.core.gates.judging.peers import spread_of
from clusterctl.core.gates.judging.without_limit import covers
from clusterctl.core.gates.planning.devices import gpu_model_of
from clusterctl.core.gates.registry import all_gates, gate_named
from clusterctl.core.gates.two_clusters import two_clusters
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import Baseline, BaselineKind, Figure, GateResult, Outcome
from clusterctl.model.learned import DeviceClass, Learned, NotLearned
from clusterctl_validators.finding import GOOD

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import date

    from clusterctl.core.gates.judging.direction import Direction
    from clusterctl.core.gates.subject import Subject

# Fewer nodes are not a class.
LEAST_NODES = 20
# A floor is at most this share of the median, and six spreads below it.
_SHARE, _SPREADS = 0.95, 6.0
_HOLDS_FOR = timedelta(days=365)
# Where a proposal is, seen from the limit in force.
_BESIDE = {True: "above", False: "below"}


@dataclass(frozen=True, slots=True)
class _Measured:
    """The worst value of one node, and the most that it could be: the line rate, or a declared ceiling."""

    subject: Subject
    value: float
    most: float | None
    device_class: DeviceClass
    simulated: bool


def learn_floors(subjects: Sequence[Subject], results: Mapping[str, Sequence[GateResult]], today: date) -> tuple[Learned, ...]:
    """For each limit of nodes and pairs that the profiles of `subjects` have or could have, and each class of these, what the nodes measured that pass its gate.

    A class is of one GPU model, line rate and version of the tool. A value of a group is none of its nodes', so limits of groups are left out.
    """
    declared: dict[tuple[str, str], tuple[Baseline, list[Subject]]] = {}
    for subject in subjects:
        for entry in _limits_in_force(subject):
            declared.setdefault((repr(entry), ""), (entry, []))[1].append(subject)
        # An entry without a value has nothing that distinguishes profiles.
        profile = repr(subject.profile.baselines)
        for entry in _without_limit(subject):
            declared.setdefault((repr(entry), profile), (entry, []))[1].append(subject)
    found: list[Learned] = []
    for entry, having in declared.values():
        measured = [one for s in having if (one := _measured(entry, s, results.get(s.name, ()))) is not None]
        classes = [_learned(entry, name, own, today) for name, own in _by_class(measured)]
        none = [] if is_first(entry) else [Learned(entry, DeviceClass(), {}, refusal=NotLearned.NO_VALUES)]
        found += _widest_for_all(classes, _direction_of(entry)) or none
    return tuple(found)


def is_first(entry: Baseline) -> bool:
    """Whether it stands for a limit that no profile declares; one that is declared is above zero."""
    return not entry.value


def _limits_in_force(subject: Subject) -> Iterator[Baseline]:
    """The strictest limit of each figure of a node or a pair."""
    strictest: dict[Figure, Baseline] = {}
    for gate in (g for g in all_gates() if g.scope in (Scope.NODE, Scope.PAIR)):
        for entry in deciding(subject.profile.for_gate(gate.name), gate.direction):
            known = strictest.get(entry.figure)
            if known is None or gate.direction.rank(entry.limit) > gate.direction.rank(known.limit):
                strictest[entry.figure] = entry
    yield from strictest.values()


def _without_limit(subject: Subject) -> Iterator[Baseline]:
    """For each figure of a node or a pair that a limit could judge and none of the profile does, an entry without a value."""
    for gate in (g for g in all_gates() if g.scope in (Scope.NODE, Scope.PAIR)):
        limits = deciding(subject.profile.for_gate(gate.name), gate.direction)
        for figure in gate.limited_figures(subject.profile.settings_of(gate)):
            if not any(covers(entry, figure) for entry in limits):
                blank = Baseline(gate.name, figure.metric, _kind_of(gate.direction), 0.0, figure.unit, source="", date="")
                yield replace(blank, op=figure.op, size_bytes=figure.size_bytes or None)


def _direction_of(entry: Baseline) -> Direction:
    return gate_named(entry.gate).direction


def _measured(entry: Baseline, subject: Subject, results: Sequence[GateResult]) -> _Measured | None:
    """What a node measured that passes the gate."""
    own = [r for r in results if r.gate == entry.gate]
    # Where nothing but a limit is missing, the first one is to be learned.
    waits = {GateReason.NO_BASELINE} if is_first(entry) else set()
    if not own or any((r.observed or r.outcome) not in GOOD and r.reason not in waits for r in own):
        return None
    direction = _direction_of(entry)
    # What was low once, and fine when it was repeated, is not the value of a good node.
    if any(r.outcome is Outcome.WARN and r.reason is direction.reason and r.figure == entry.figure for r in own):
        return None
    of_metric = [r for r in own if (r.metric, r.unit) == (entry.metric, entry.unit) and r.value is not None]
    # A result of pairs names its operation where its floor does not, and no size.
    alike = [r for r in of_metric if entry.op in ("", r.op) and r.size_bytes in (None, entry.size_bytes)]
    figures = [r for r in of_metric if r.figure == entry.figure] or alike
    if not figures:
        return None
    gate = gate_named(entry.gate)
    worst = min(figures, key=lambda r: direction.rank(r.value or 0.0))
    rate = gate.line_rate(entry, subject.profile.settings_of(gate), subject.hcas, subject.gpus) if direction.higher_is_better else None
    ceilings = [b.value for b in subject.profile.for_gate(entry.gate) if b.kind is BaselineKind.CEILING and b.figure == entry.figure]
    most = min([*ceilings, *([rate] if rate is not None else [])], default=None)
    rates = tuple(sorted({h.rate_gbps for h in subject.hcas})) if gate.scope is Scope.PAIR else ()
    device_class = DeviceClass(gpu_model_of(subject.node), rates, worst.tool_version)
    return _Measured(subject, worst.value or 0.0, most, device_class, any(r.simulated for r in own))


def _by_class(measured: Iterable[_Measured]) -> Iterator[tuple[DeviceClass, list[_Measured]]]:
    order = sorted(measured, key=lambda one: (one.device_class, one.subject.name))
    for device_class, own in groupby(order, lambda one: one.device_class):
        yield device_class, list(own)


def _learned(entry: Baseline, device_class: DeviceClass, measured: Sequence[_Measured], today: date) -> Learned:
    values = {one.subject.name: one.value for one in measured}
    middle = median(values.values())
    spread = spread_of(list(values.values()), middle)
    found = Learned(entry, device_class, values, middle, spread / middle)
    if len(values) < LEAST_NODES:
        return replace(found, refusal=NotLearned.FEW_NODES)
    if clusters := two_clusters(values):
        return replace(found, refusal=NotLearned.TWO_CLUSTERS, clusters=clusters)
    label = "simulated: " if any(one.simulated for one in measured) else ""
    source = f"{label}clusterctl baseline learn: median {limit_text(middle)} of {len(values)} nodes"
    direction = _direction_of(entry)
    most = min((one.most for one in measured if one.most is not None), default=middle)
    tool = gate_named(entry.gate).tool
    limit = replace(
        entry,
        value=_first_limit(middle, spread, most, direction),
        tolerance_percent=0.0,
        source=f"{source}; {f'no {direction.limit} was declared before' if is_first(entry) else f'{_BESIDE[direction.higher_is_better]} {entry.source}'}",
        date=today.isoformat(),
        expires=(today + _HOLDS_FOR).isoformat(),
        sku=device_class.gpu_model,
        versions={tool: device_class.tool_version} if device_class.tool_version else {},
        n=len(values),
        spread=round(spread / middle, 4),
        reason="",
    )
    # An upper limit is all that a gate takes whose lower values are better.
    reads = (
        replace(limit, kind=BaselineKind.EXPECTED, value=_tenth_below(min(middle, most)), source=source)
        if direction.higher_is_better
        else None
    )
    if limit.value <= 0:
        return replace(found, expected=reads, refusal=NotLearned.WIDE_SPREAD)
    if not is_first(entry) and direction.reaches(entry.limit, limit.value):
        return replace(found, expected=reads, refusal=NotLearned.FLOOR_AS_HIGH)
    return replace(found, expected=reads, proposal=replace(limit, kind=_kind_of(direction)))


def _kind_of(direction: Direction) -> BaselineKind:
    return BaselineKind.FLOOR if direction.higher_is_better else BaselineKind.UPPER_LIMIT


def _first_limit(middle: float, spread: float, most: float, direction: Direction) -> float:
    """A twentieth and six spreads beside the median, on its bad side."""
    if direction.higher_is_better:
        return _tenth_below(min(_SHARE * middle, middle - _SPREADS * spread, most))
    return _tenth_above(max((2 - _SHARE) * middle, middle + _SPREADS * spread))


def _tenth_below(value: float) -> float:
    """One decimal, never above; 0.95 x 388 is 368.6 although its float is a little less."""
    return floor(round(10 * value, 6)) / 10


def _tenth_above(value: float) -> float:
    """One decimal, never below."""
    return ceil(round(10 * value, 6)) / 10


def _widest_for_all(classes: Sequence[Learned], direction: Direction) -> list[Learned]:
    """A limit holds for every node of a profile, so of several classes only the lowest floor, or the highest upper limit, stands."""
    widest = min((direction.rank(c.proposal.value) for c in classes if c.proposal), default=0.0)
    if any(c.refusal is NotLearned.FLOOR_AS_HIGH for c in classes):
        widest = -inf
    return [
        replace(c, proposal=None, refusal=NotLearned.LOWER_CLASS) if c.proposal and direction.rank(c.proposal.value) > widest else c
        for c in classes
    ]
