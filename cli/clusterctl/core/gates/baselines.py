"""What a baseline must not be: zero, above what the hardware can carry, tolerated twice, expired, in another unit. Pure."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from clusterctl.core.gates.registry import gate_named, gate_names
from clusterctl.model.gate_result import Baseline, BaselineKind
from clusterctl.model.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clusterctl.core.gates.planning.devices import Hca
    from clusterctl.core.gates.settings import GateSettings


def baseline_problems(
    entries: Sequence[Baseline], settings: Mapping[str, GateSettings], *, hcas: Sequence[Hca], gpus: int, today: date
) -> list[Problem]:
    """Everything wrong with `gates_baselines` of a node with these devices and settings (by gate), each with its path."""
    found: list[Problem] = []
    for index, entry in enumerate(entries):
        path = f"gates_baselines[{index}] ({entry.gate} {entry.metric})"
        found += [Problem(f"{path}.{key}", message) for key, message in _problems_of(entry, today)]
        if entry.gate in gate_names():
            limit = gate_named(entry.gate).line_rate(entry, settings[entry.gate], hcas, gpus)
            if limit is not None and entry.kind not in (BaselineKind.CEILING, BaselineKind.UPPER_LIMIT) and entry.value > limit:
                message = f"{entry.value:g} {entry.unit} is above the line rate, {limit:g} {entry.unit}: no node could pass"
                found.append(Problem(f"{path}.value", message))
        if entry.tolerance_percent and any(_same_scope(entry, o) and o.kind is BaselineKind.FLOOR for o in entries):
            message = "a floor for the same figure exists; the tolerance would be applied twice"
            found.append(Problem(f"{path}.tolerance_percent", message))
    return found


def _problems_of(entry: Baseline, today: date) -> Iterator[tuple[str, str]]:
    if entry.gate not in gate_names():
        yield "gate", f"unknown gate {entry.gate!r}; known: {', '.join(gate_names())}"
    if kind := _kind_problem(entry):
        yield "kind", kind
    if not entry.value > 0:
        yield "value", "is zero, negative or missing; a baseline is a measured number"
    unit = gate_named(entry.gate).units.get(entry.metric) if entry.gate in gate_names() else None
    if unit and entry.unit != unit:
        yield "unit", f"{entry.unit!r}; {entry.metric} is in {unit}"
    if entry.tolerance_percent and entry.kind is not BaselineKind.EXPECTED:
        yield "tolerance_percent", f"a {entry.kind} is a limit already; the tolerance would be applied twice"
    if entry.nodes is not None and (entry.nodes_min or entry.nodes_max):
        yield "nodes", "stands beside nodes_min or nodes_max; state one number of nodes, or a range"
    if entry.nodes_min and entry.nodes_max and entry.nodes_min > entry.nodes_max:
        yield "nodes_min", f"{entry.nodes_min} is above nodes_max, {entry.nodes_max}"
    expires = _day(entry.expires)
    if entry.expires and expires is None:
        yield "expires", f"{entry.expires!r} is not a date"
    elif expires is not None and expires < today:
        yield "expires", f"expired on {entry.expires} ({entry.source}); renew it, or remove it"


def _kind_problem(entry: Baseline) -> str:
    if not isinstance(entry.kind, BaselineKind):
        return f"{entry.kind!r} is none of {', '.join(BaselineKind)}"
    lower_is_better = entry.gate in gate_names() and not gate_named(entry.gate).direction.higher_is_better
    if lower_is_better and entry.kind is not BaselineKind.UPPER_LIMIT:
        return f"{entry.kind}: lower figures of {entry.gate} are better, so {BaselineKind.UPPER_LIMIT} alone limits them"
    return ""


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _same_scope(one: Baseline, other: Baseline) -> bool:
    def scope(b: Baseline) -> tuple[object, ...]:
        return (b.gate, b.metric, b.size_bytes, b.nodes, b.nodes_min, b.nodes_max, b.op)

    return one is not other and scope(one) == scope(other)
