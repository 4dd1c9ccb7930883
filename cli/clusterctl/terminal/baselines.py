"""Floors, beside what was measured; proposals as YAML that a person may accept."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import yaml

from clusterctl.core.gates.judging.limits import limit_text
from clusterctl.terminal import messages, out

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.core.gates.learning import Learned
    from clusterctl.model.gate_result import Baseline

_IN_FORCE = ("GATE", "METRIC", "FLOOR", "N", "SPREAD", "DATE", "EXPIRES", "SOURCE")
_MEASURED = ("GATE", "METRIC", "FLOOR", "NODES", "LOWEST", "MEDIAN", "SPREAD", "LEARNED", "WHY NOT")


def in_force(output: str, found: Sequence[Learned]) -> None:
    """The floors of some profiles with their provenance."""
    if output != "table":
        out.emit(output, "baselines", {"baselines": [_entry(one.floor) for one in found]})
        return
    out.table(_IN_FORCE, [_floor_row(one.floor) for one in found])


def measured(output: str, found: Sequence[Learned]) -> None:
    """The floors beside what the nodes measured."""
    if output != "table":
        out.emit(output, "baselines_measured", {"baselines": [_document(one) for one in found]})
        return
    out.table(_MEASURED, [_measured_row(one) for one in found])


def proposals(found: Sequence[Learned]) -> None:
    """The learned floors on stdout; what was not learned, and why, on stderr."""
    for one in found:
        if one.why_not:
            messages.note(f"{one.floor.gate} {one.floor.metric} not learned: {one.why_not}")
    entries = [_entry(one.proposal) for one in found if one.proposal]
    if entries:
        out.print_text(yaml.safe_dump({"gates_baselines_site": entries}, sort_keys=False, allow_unicode=True).rstrip())
        messages.note("nothing has changed: put what you accept into group_vars of the profile")


def _entry(baseline: Baseline) -> dict[str, Any]:
    """As a profile declares it; what is empty is left out."""
    plain = {key: str(value) if key == "kind" else value for key, value in asdict(baseline).items()}
    return {key: value for key, value in plain.items() if value not in (None, "", 0.0, {})}


def _document(one: Learned) -> dict[str, Any]:
    return {
        "floor": _entry(one.floor),
        "nodes": dict(one.nodes),
        "median": one.median,
        "spread": one.spread,
        "learned": _entry(one.proposal) if one.proposal else None,
        "why_not": one.why_not,
    }


def _value(baseline: Baseline) -> str:
    return f"{limit_text(baseline.limit)} {baseline.unit}"


def _floor_row(floor: Baseline) -> tuple[str, ...]:
    spread = "-" if floor.spread is None else f"{100 * floor.spread:.1f} %"
    return floor.gate, floor.metric, _value(floor), str(floor.n or "-"), spread, floor.date, floor.expires or "-", floor.source


def _measured_row(one: Learned) -> tuple[str, ...]:
    figures = (
        ("-", "-", "-") if not one.nodes else (limit_text(min(one.nodes.values())), limit_text(one.median), f"{100 * one.spread:.1f} %")
    )
    learned = _value(one.proposal) if one.proposal else "-"
    return one.floor.gate, one.floor.metric, _value(one.floor), str(len(one.nodes)), *figures, learned, one.why_not or "-"
