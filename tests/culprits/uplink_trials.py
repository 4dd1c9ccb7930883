"""How well a bad uplink of a leaf and a bad spine are found, and how often healthy ones are named."""

from __future__ import annotations

from typing import Any

from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import Outcome
from culprits.fleet import Fleet, Night, night_of
from culprits.spine_layer import SpineLayer

NOISE = 0.03
# What is bad, its way, and the name that is right for it.
LAYERS = {
    "healthy": (SpineLayer(), ""),
    "uplink": (SpineLayer(bad_leaf=2), "one of the uplinks of leaf2 "),
    "uplink, ways by receiver": (SpineLayer(bad_leaf=2, static=True), "one of the uplinks of leaf2 "),
    "spine": (SpineLayer(bad_group=0), "the spines "),
    "spine, ways by receiver": (SpineLayer(bad_group=0, static=True), "the spines "),
}


def uplinks_over_nights(kind: str, nodes: int, nights: int) -> dict[str, Any]:
    """The sums over some nights of one fleet with leaves of 32 nodes and eight uplinks each; `wrong`: nights in which another part is named."""
    layer, right = LAYERS[kind]
    fleet = Fleet(nodes, layer.per_leaf, noise=NOISE, low=layer)
    subjects = fleet.subjects()
    found = [night_of(fleet, subjects, f"{kind}-{number}") for number in range(nights)]
    named = [parts_named(night) for night in found]
    return {
        "kind": kind,
        "nodes": nodes,
        "per_leaf": layer.per_leaf,
        "uplinks": layer.spines,
        "noise": NOISE,
        "nights": nights,
        "named": sum(bool(right) and any(part.startswith(right) for part in parts) for parts in named),
        "wrong": sum(any(not right or not part.startswith(right) for part in parts) for parts in named),
        "judged": nodes * nights,
        "healthy_marked_faulty": sum(len(night.marked_faulty) for night in found),
        "healthy_could_not_run": sum(r.outcome is Outcome.COULD_NOT_RUN for night in found for r in night.results),
    }


def parts_named(night: Night) -> frozenset[str]:
    """What lies between proven ends by the results of a night: `one of the uplinks of leaf2 for rail 0`."""
    details = (r.detail for r in night.results if r.reason is GateReason.SHARED_FAULT and r.outcome is Outcome.WARN)
    return frozenset(detail.partition("both ends are proven: ")[2].partition(":")[0] for detail in details)
