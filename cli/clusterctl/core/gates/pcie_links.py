"""Judges the PCIe links above a node's GPUs, as they were while a gate loaded them. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clusterctl.core.gates.planning.devices import gpu_link_of
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome
from clusterctl.model.running_text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.pcie_hop import PcieHop

# Assumed: a GPU that copies over NVLink-C2C keeps its PCIe link at full speed. Recorded GB200 and GB300 show generation 6 in P0, nobody shows them under load.
# PCI Express Base specification, 8.4: GT/s of each generation.
_SPEEDS_GTS = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0, 7: 128.0}
_RULE = "link"
_SOURCE = "what both ends of the link can do (sysfs)"
_DECLARED = "hardware_gpu_pcie_{} of the node's profile"
_RESEAT = "power off the node and reseat what is at both ends, its riser or cable; check speed and bifurcation of the slot in the BIOS; replace it if it stays"


def judge_links(gate: str, subject: Subject, hops: Sequence[PcieHop]) -> tuple[GateResult, ...]:
    """One result for each link that is bad or unknown, however many GPUs are behind it; one pass where all links of all declared GPUs are good."""
    names = {address: f"gpu{i}" for i, address in enumerate(sorted({h.device for h in hops}))}
    sampled = {h.device for h in hops if h.samples}
    results = []
    if len(sampled) < subject.gpus or not hops:
        detail = f"the PCIe links of {len(sampled)} of {subject.gpus} GPUs could be read while it ran"
        found = counted(len(sampled), "GPU")
        results.append(
            _unknown(GateResult(gate, subject.name, Outcome.COULD_NOT_RUN, _RULE, "pcie_link", counted(subject.gpus, "GPU"), found), detail)
        )
    for lower in dict.fromkeys(h.lower for h in hops if h.device in sampled):
        results += _of_link(gate, subject, [h for h in hops if h.lower == lower], names)
    if all(r.outcome is Outcome.NOT_APPLICABLE for r in results):
        links = len({h.lower for h in hops})
        results.append(
            GateResult(
                gate,
                subject.name,
                Outcome.PASS,
                _RULE,
                "pcie_link",
                found=f"{counted(links, 'link')} of {counted(len(names), 'GPU')}",
                source=_SOURCE,
            )
        )
    return tuple(results)


def _of_link(gate: str, subject: Subject, hops: Sequence[PcieHop], names: Mapping[str, str]) -> Iterator[GateResult]:
    """Speed and width of one link, from the hops of all GPUs that it leads to."""
    hop = hops[0]
    generation, width = gpu_link_of(subject.node) if hop.lower == hop.device else (0, 0)
    above = f"{hop.lower} and the port above it, {hop.upper}" if hop.upper else f"{hop.lower} and a port that is not visible"
    gpus = ", ".join(names[h.device] for h in hops)
    detail = f"the link between {above}, on the way to {gpus}"
    blank = GateResult(gate, subject.name, Outcome.COULD_NOT_RUN, _RULE, device=names[hop.device] if len(hops) == 1 else "", detail=detail)
    speeds, widths = [h.speed_gts for h in hops if h.speed_gts is not None], [h.width for h in hops if h.width is not None]
    values = (
        ("pcie_speed", "GT/s", _SPEEDS_GTS.get(generation), "gen", hop.most_speed_gts, max(speeds, default=None)),
        ("pcie_width", "lanes", width or None, "width", hop.most_width, min(widths, default=None)),
    )
    for metric, unit, declared, name, most, found in values:
        # Without its upper end, what one end can do is not an expectation.
        limit = declared or (most if hop.upper else None)
        result = replace(blank, metric=metric, unit=unit, source=_DECLARED.format(name) if declared else _SOURCE)
        if found is None or (limit is None and hop.upper):
            yield _unknown(result, f"the kernel does not show {metric} of {detail}")
        elif limit is None:
            yield replace(result, outcome=Outcome.NOT_APPLICABLE, detail=f"no port above {hop.device} is visible, and nothing is declared")
        elif found < limit:
            failed = replace(result, outcome=Outcome.FAIL, reason=GateReason.LINK_DOWNTRAINED, value=float(found), limit=float(limit))
            yield replace(failed, expected=f">= {limit:g} {unit}", found=f"{found:g} {unit}", hint=f"{above}: {_RESEAT}")


def _unknown(result: GateResult, detail: str) -> GateResult:
    return replace(result, detail=detail, reason=GateReason.INCOMPLETE)
