"""The median of each class against what its baseline expects: the whole group is slow, and no node is the reason. Pure."""

from __future__ import annotations

from math import sqrt
from statistics import median
from typing import TYPE_CHECKING

from clusterctl.core.gates.gate import Scope
from clusterctl.core.gates.judging.limits import limit_text
from clusterctl.core.gates.judging.peers import LEAST_PEERS, TO_SIGMA, WARN, spread_of
from clusterctl.core.gates.planning.devices import gpu_model_of
from clusterctl.core.gates.registry import gate_named
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import BaselineKind
from clusterctl.model.learned import DeviceClass
from clusterctl.model.slow_class import SlowClass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import Baseline, Figure, GateResult

# The standard error of the median of n normal values is 1.2533 sigma / sqrt(n) (sqrt(pi / 2); Kendall and Stuart, The Advanced Theory of Statistics).
_MEDIAN_ERROR = 1.2533


def slow_classes(subjects: Sequence[Subject], results: Sequence[GateResult]) -> tuple[SlowClass, ...]:
    """The classes with at least ten values whose median is 3.5 % below the expectation of their profiles, and z < -3.5.

    A class is a figure on devices of one GPU model and line rate, measured with one version of the tool. Of profiles that expect differently the lowest
    counts. Its standard error takes in the spread and `n` of a learned expectation. A value of a group of nodes is not a distribution, so it is left out.
    """
    known = {s.name: s for s in subjects}
    found = (
        _slow(device_class, own, known) for (_, device_class), own in sorted(class_members(known, results).items(), key=lambda m: m[0])
    )
    return tuple(one for one in found if one)


def class_members(known: Mapping[str, Subject], results: Sequence[GateResult]) -> dict[tuple[Figure, DeviceClass], tuple[GateResult, ...]]:
    """The lowest result of each device, by figure and class; those of groups of nodes are left out."""
    members: dict[tuple[Figure, DeviceClass], dict[tuple[str, str], GateResult]] = {}
    for result in results:
        if result.own_value is None or result.reason is GateReason.ABOVE_CEILING or result.node not in known:
            continue
        if gate_named(result.gate).scope in (Scope.NODE, Scope.PAIR):
            own = members.setdefault((result.figure, _class_of(known[result.node], result)), {})
            lowest = own.get((result.node, result.device))
            if lowest is None or result.own_value < (lowest.own_value or 0.0):
                own[result.node, result.device] = result
    return {key: tuple(own.values()) for key, own in members.items()}


def expected_of(subject: Subject, result: GateResult, device_class: DeviceClass) -> Baseline | None:
    """What a profile expects of a good device of a class, where it states that for people: the highest that holds for it."""
    gate = gate_named(result.gate)
    sizes = (None, result.size_bytes)
    entries = [
        b
        for b in subject.profile.for_gate(result.gate)
        if b.kind is BaselineKind.EXPECTED
        and not b.tolerance_percent
        and (b.metric, b.unit) == (result.metric, result.unit)
        and b.op in ("", result.op)
        and (b.size_bytes in sizes or gate.scope is Scope.PAIR)  # a pair has one size
        and b.sku in ("", device_class.gpu_model)
        and b.versions.get(gate.tool, device_class.tool_version) == device_class.tool_version
    ]
    return max(entries, key=lambda b: b.value, default=None)


def class_text(one: SlowClass) -> str:
    """For people: what is slow, by how much, against which source, and what to look at."""
    figure = " ".join(word for word in (one.op, one.metric) if word)
    words = (one.device_class.gpu_model, f"{one.gate} {figure}", one.device_class.tool_version)
    what = ", ".join(word for word in words if word)
    return (
        f"the whole group is slow: {what}: the median of {one.values} values on {len(one.nodes)} nodes, {limit_text(one.median)} {one.unit}, is "
        f"{100 * one.below:.1f} % below the expected {limit_text(one.expected)} {one.unit} ({one.source}; z {one.z:.1f})"
        f"{' [simulated]' if one.simulated else ''}; look at what all share, not at a node: firmware, driver, settings, switches"
    )


def _class_of(subject: Subject, result: GateResult) -> DeviceClass:
    rates = tuple(h.rate_gbps for h in subject.hcas if h.name == result.device)
    return DeviceClass(gpu_model_of(subject.node), rates, result.tool_version)


def _slow(device_class: DeviceClass, own: Sequence[GateResult], known: dict[str, Subject]) -> SlowClass | None:
    entries = [entry for r in own if (entry := expected_of(known[r.node], r, device_class))]
    if len(own) < LEAST_PEERS or not entries:
        return None
    expected = min(entries, key=lambda b: b.value)
    values = [r.own_value or 0.0 for r in own]
    middle = median(values)
    error = _error(spread_of(values, middle), len(values))
    learned = _error(expected.spread * expected.value, expected.n) if expected.spread and expected.n else 0.0
    z = (middle - expected.value) / sqrt(error**2 + learned**2)
    if middle >= expected.value * (1 - WARN[1]) or z >= WARN[0]:
        return None
    one = own[0]
    return SlowClass(
        gate=one.gate,
        metric=one.metric,
        unit=one.unit,
        op=one.op,
        size_bytes=one.size_bytes,
        device_class=device_class,
        nodes=tuple(sorted({r.node for r in own})),
        values=len(values),
        median=middle,
        expected=expected.value,
        source=expected.source,
        z=z,
        simulated=any(r.simulated for r in own),
    )


def _error(spread: float, n: int) -> float:
    """The standard error of the median of `n` values with this median absolute deviation."""
    return _MEDIAN_ERROR * spread / TO_SIGMA / sqrt(n)
