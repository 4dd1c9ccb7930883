"""Floors from what good nodes of a class measured. Pure; a proposal is no baseline until a person writes it into a profile."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import groupby
from math import floor
from statistics import median
from typing import TYPE_CHECKING

from clusterctl.core.gates.gate import Scope
from clusterctl.core.gates.judging.limits import floors, limit_text
from clusterctl.core.gates.judging.peers import spread_of
from clusterctl.core.gates.planning.devices import gpu_model_of
from clusterctl.core.gates.registry import gate_named
from clusterctl.core.gates.two_clusters import two_clusters
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import Baseline, BaselineKind, Figure, GateResult, Outcome
from clusterctl.model.learned import DeviceClass, Learned, NotLearned
from clusterctl_validators.finding import GOOD

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import date

    from clusterctl.core.gates.subject import Subject

# Fewer nodes are no class.
LEAST_NODES = 20
# A floor is at most this share of the median, and six spreads below it.
_SHARE, _SPREADS = 0.95, 6.0
_HOLDS_FOR = timedelta(days=365)


@dataclass(frozen=True, slots=True)
class _Measured:
    """The lowest value of one node, and the most that it could be: the line rate, or a declared ceiling."""

    subject: Subject
    value: float
    most: float | None
    device_class: DeviceClass
    simulated: bool


def learn_floors(subjects: Sequence[Subject], results: Mapping[str, Sequence[GateResult]], today: date) -> tuple[Learned, ...]:
    """For each floor of nodes and pairs in the profiles of `subjects`, and each class of these, what the nodes measured that pass its gate.

    A class is of one GPU model, line rate and version of the tool. A value of a group is none of its nodes', so floors of groups are left out.
    """
    declared: dict[str, tuple[Baseline, list[Subject]]] = {}
    for subject in subjects:
        for entry in _floors_in_force(subject):
            declared.setdefault(repr(entry), (entry, []))[1].append(subject)
    found: list[Learned] = []
    for entry, having in declared.values():
        measured = [one for s in having if (one := _measured(entry, s, results.get(s.name, ()))) is not None]
        classes = [_learned(entry, name, own, today) for name, own in _by_class(measured)]
        found += _lowest_for_all(classes) or [Learned(entry, DeviceClass(), {}, refusal=NotLearned.NO_VALUES)]
    return tuple(found)


def _floors_in_force(subject: Subject) -> Iterator[Baseline]:
    """The highest floor of each figure of a node or a pair."""
    highest: dict[Figure, Baseline] = {}
    for entry in floors(subject.profile.baselines):
        known = highest.get(entry.figure)
        if gate_named(entry.gate).scope in (Scope.NODE, Scope.PAIR) and (known is None or entry.limit > known.limit):
            highest[entry.figure] = entry
    yield from highest.values()


def _measured(entry: Baseline, subject: Subject, results: Sequence[GateResult]) -> _Measured | None:
    """What a node measured that passes the gate."""
    own = [r for r in results if r.gate == entry.gate]
    if not own or any((r.observed or r.outcome) not in GOOD for r in own):
        return None
    # What was low once, and fine when it was repeated, is no value of a good node.
    if any(r.outcome is Outcome.WARN and r.reason is GateReason.BELOW_FLOOR and r.figure == entry.figure for r in own):
        return None
    of_metric = [r for r in own if (r.metric, r.unit) == (entry.metric, entry.unit) and r.value is not None]
    # A result of pairs names its operation where its floor does not, and no size.
    alike = [r for r in of_metric if entry.op in ("", r.op) and r.size_bytes in (None, entry.size_bytes)]
    figures = [r for r in of_metric if r.figure == entry.figure] or alike
    if not figures:
        return None
    gate = gate_named(entry.gate)
    lowest = min(figures, key=lambda r: r.value or 0.0)
    rate = gate.line_rate(entry, subject.profile.settings_of(gate), subject.hcas, subject.gpus)
    ceilings = [b.value for b in subject.profile.for_gate(entry.gate) if b.kind is BaselineKind.CEILING and b.figure == entry.figure]
    most = min([*ceilings, *([rate] if rate is not None else [])], default=None)
    rates = tuple(sorted({h.rate_gbps for h in subject.hcas})) if gate.scope is Scope.PAIR else ()
    device_class = DeviceClass(gpu_model_of(subject.node), rates, lowest.tool_version)
    return _Measured(subject, lowest.value or 0.0, most, device_class, any(r.simulated for r in own))


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
    most = min((one.most for one in measured if one.most is not None), default=middle)
    tool = gate_named(entry.gate).tool
    expected = replace(
        entry,
        kind=BaselineKind.EXPECTED,
        value=_tenth_below(min(middle, most)),
        tolerance_percent=0.0,
        source=source,
        date=today.isoformat(),
        expires=(today + _HOLDS_FOR).isoformat(),
        sku=device_class.gpu_model,
        versions={tool: device_class.tool_version} if device_class.tool_version else {},
        n=len(values),
        spread=round(spread / middle, 4),
        reason="",
    )
    value = _tenth_below(min(_SHARE * middle, middle - _SPREADS * spread, most))
    if value <= entry.limit:
        return replace(found, expected=expected, refusal=NotLearned.FLOOR_AS_HIGH)
    proposal = replace(expected, kind=BaselineKind.FLOOR, value=value, source=f"{source}; above {entry.source}")
    return replace(found, expected=expected, proposal=proposal)


def _tenth_below(value: float) -> float:
    """One decimal, never above; 0.95 x 388 is 368.6 although its float is a little less."""
    return floor(round(10 * value, 6)) / 10


def _lowest_for_all(classes: Sequence[Learned]) -> list[Learned]:
    """A floor holds for every node of a profile, so of several classes only the lowest proposal stands."""
    lowest = min((c.proposal.value for c in classes if c.proposal), default=0.0)
    if any(c.refusal is NotLearned.FLOOR_AS_HIGH for c in classes):
        lowest = 0.0
    return [replace(c, proposal=None, refusal=NotLearned.LOWER_CLASS) if c.proposal and c.proposal.value > lowest else c for c in classes]
