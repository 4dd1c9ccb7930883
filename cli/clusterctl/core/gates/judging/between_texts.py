"""What was between two proven ends that were low together, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.core.gates.judging.shared_faults import SharedFault, SharedPart
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.repair import NO_REPAIR, Repair

if TYPE_CHECKING:
    from clusterctl.core.gates.judging.direction import Direction

NAMED = (SharedPart.UPLINK, SharedPart.SPINES)


def reason_between(fault: SharedFault | None) -> GateReason:
    """A collision passes; uplinks and spines stay."""
    return GateReason.SHARED_FAULT if fault and fault.part in NAMED else GateReason.COLLISION


def repair_between(fault: SharedFault | None) -> Repair:
    """The name of the switch, where one is at fault."""
    return Repair(component_name=fault.title) if fault and fault.part in NAMED else NO_REPAIR


def why_between(fault: SharedFault | None, direction: Direction) -> str:
    """What made the pair low, as far as all pairs show it."""
    if fault is None:
        return "a collision on the path between them"
    if fault.part is SharedPart.PATH:
        return f"the path between {fault.name}: more than half of the pairs that used it were {direction.bad}"
    if fault.part is SharedPart.UPLINK:
        part, compared = f"one of the uplinks of {fault.name}{_of_rail(fault)}", "of the other leaves"
    elif fault.name:
        part, compared = f"the spine {fault.name}{_of_rail(fault)}, no leaf below it", "of the other spines"
    else:
        part, compared = f"the spines{_of_rail(fault)}, no leaf", "inside leaves"
    return f"{part}: {_counts(fault, direction)}, {compared} {_others(fault)}"


def hint_between(fault: SharedFault | None, node: str) -> str:
    """Where to look; the node is not the place."""
    if fault is None or fault.part is SharedPart.PATH:
        return f"nothing on {node}, unless it repeats: see `clusterctl history {node}`"
    if fault.part is SharedPart.UPLINK:
        return (
            f"nothing on {node}; check uplinks of {fault.name}{_of_rail(fault)} one by one, and the ports of the spines that they end at: "
            "rate, width, errors, discards"
        )
    where = f"the spines of {fault.name}" if fault.name else "the spines"
    return (
        f"nothing on {node}; check {where}{_of_rail(fault)} one by one: rate, errors and discards of their ports, then how flows are spread over them "
        "(routing, congestion control)"
    )


def _of_rail(fault: SharedFault) -> str:
    return "" if fault.rail is None else f" for rail {fault.rail}"


def _counts(fault: SharedFault, direction: Direction) -> str:
    seen = fault.seen
    return f"{seen.low} of {seen.of} links across leaves were {direction.bad}" if seen else f"links across leaves were {direction.bad}"


def _others(fault: SharedFault) -> str:
    return f"{fault.others.low} of {fault.others.of}" if fault.others else "fewer"
