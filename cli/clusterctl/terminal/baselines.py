"""Floors, beside what was measured; proposals as YAML that a person may accept."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import yaml

from clusterctl.core.gates.judging.limits import limit_text
from clusterctl.core.gates.learning import LEAST_NODES, is_first
from clusterctl.model.learned import NotLearned
from clusterctl.model.running_text import counted, first_of
from clusterctl.model.site_documents import BaselinesDocument, MeasuredBaseline, MeasuredBaselinesDocument
from clusterctl.terminal import messages, out

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clusterctl.model.gate_result import Baseline
    from clusterctl.model.learned import Cluster, DeviceClass, Learned

_IN_FORCE = ("GATE", "METRIC", "HOLDS FOR", "KIND", "VALUE", "N", "SPREAD", "DATE", "EXPIRES", "SOURCE")
_MEASURED = ("GATE", "METRIC", "CLASS", "FLOOR", "NODES", "LOWEST", "MEDIAN", "SPREAD", "LEARNED", "WHY NOT")
_NAMES = 4
_WHY_NOT = {
    NotLearned.NO_VALUES: "no node of the class has passed the gate",
    NotLearned.FEW_NODES: "{nodes} nodes passed, {least} are needed",
    NotLearned.WIDE_SPREAD: "the nodes differ too much: six spreads below their median is not a value",
    NotLearned.FLOOR_AS_HIGH: "the one in force is as strict: {floor}",
    NotLearned.LOWER_CLASS: "another class with this profile supports a laxer one only, and it holds for all: give the class a profile of its own",
}


def in_force(output: str, found: Sequence[Baseline]) -> None:
    """The baselines of some profiles with their provenance."""
    if output != "table":
        out.emit_document(output, "baselines", BaselinesDocument(tuple(found)))
        return
    out.table(_IN_FORCE, [_floor_row(one) for one in found])


def measured(output: str, found: Sequence[Learned]) -> None:
    """The floors beside what the nodes measured."""
    if output != "table":
        out.emit_document(output, "baselines_measured", MeasuredBaselinesDocument(tuple(map(_document, found))))
        return
    out.table(_MEASURED, [_measured_row(one) for one in found])


def proposals(found: Sequence[Learned]) -> None:
    """The learned floors and what their classes read on stdout; what was not learned, and why, on stderr."""
    for one in found:
        if one.refusal:
            of_class = f" of {text}" if (text := _class(one.device_class)) != "-" else ""
            messages.note(f"no {one.floor.kind.replace('_', ' ')} for {one.floor.gate} {one.floor.metric}{of_class}: {_why_not(one)}")
        elif is_first(one.floor):
            messages.note(f"none was declared before for {one.floor.gate} {one.floor.metric}: its first {one.floor.kind.replace('_', ' ')}")
    entries = [_entry(baseline) for one in found for baseline in (one.proposal, one.expected) if baseline]
    if entries:
        out.print_text(yaml.safe_dump({"gates_baselines_site": entries}, sort_keys=False, allow_unicode=True).rstrip())
        messages.note("nothing has changed: put what you accept into group_vars of the profile")


def _entry(baseline: Baseline) -> dict[str, Any]:
    """As a profile declares it; what is empty is left out."""
    plain = {key: str(value) if key == "kind" else value for key, value in asdict(baseline).items()}
    return {key: value for key, value in plain.items() if value not in (None, "", 0.0, {})}


def _document(one: Learned) -> MeasuredBaseline:
    return MeasuredBaseline(
        floor=one.floor,
        declared=not is_first(one.floor),
        class_=one.device_class,
        nodes=dict(one.nodes),
        median=one.median,
        spread=one.spread,
        learned=one.proposal,
        expected=one.expected,
        refusal=one.refusal,
        clusters=one.clusters,
    )


def _why_not(one: Learned) -> str:
    """Why no floor is proposed, in words."""
    if one.refusal is NotLearned.TWO_CLUSTERS:
        lower, upper = one.clusters
        both = f"{_cluster(lower, one.floor.unit)}, and {_cluster(upper, one.floor.unit)}"
        return f"the class is two: {both}; repair the lower ones, or give them a profile of their own"
    return _WHY_NOT[one.refusal].format(nodes=len(one.nodes), least=LEAST_NODES, floor=_value(one.floor)) if one.refusal else "-"


def _cluster(cluster: Cluster, unit: str) -> str:
    names = first_of(cluster.nodes, _NAMES)
    return f"{counted(len(cluster.nodes), 'node')} around {limit_text(cluster.centre)} {unit} ({names})"


def _class(device_class: DeviceClass) -> str:
    """`NVIDIA H100 80GB HBM3, 400 Gb/s, 2.17.6`, as far as it is known."""
    rates = "/".join(f"{rate:g}" for rate in device_class.rates_gbps)
    words = (device_class.gpu_model, f"{rates} Gb/s" if rates else "", device_class.tool_version)
    return ", ".join(word for word in words if word) or "-"


def _value(baseline: Baseline) -> str:
    if is_first(baseline):
        return "none"
    return f"{limit_text(baseline.limit)} {baseline.unit}"


def _floor_row(one: Baseline) -> tuple[str, ...]:
    spread = "-" if one.spread is None else f"{100 * one.spread:.1f} %"
    held_for = ", ".join(_conditions(one)) or "-"
    return one.gate, one.metric, held_for, str(one.kind), _value(one), str(one.n or "-"), spread, one.date, one.expires or "-", one.source


def _conditions(one: Baseline) -> Iterator[str]:
    """What distinguishes floors of the same metric."""
    least, most = (one.nodes, one.nodes) if one.nodes is not None else (one.nodes_min, one.nodes_max)
    if least is not None or most is not None:
        span = f"{least}" if least == most else f"{least or 1} to {most}" if most is not None else f"{least} or more"
        yield f"{span} {'node' if most == 1 else 'nodes'}"
    yield from (word for word in (one.op, one.sku, one.fabric) if word)
    if one.size_bytes is not None:
        yield f"messages of {one.size_bytes} bytes"
    yield from (f"{name} {version}" for name, version in sorted(one.versions.items()))


def _measured_row(one: Learned) -> tuple[str, ...]:
    figures = (
        ("-", "-", "-") if not one.nodes else (limit_text(min(one.nodes.values())), limit_text(one.median), f"{100 * one.spread:.1f} %")
    )
    learned = _value(one.proposal) if one.proposal else "-"
    return (
        one.floor.gate,
        one.floor.metric,
        _class(one.device_class),
        _value(one.floor),
        str(len(one.nodes)),
        *figures,
        learned,
        _why_not(one),
    )
