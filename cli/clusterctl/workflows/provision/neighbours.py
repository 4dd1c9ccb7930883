"""Which nodes cannot be measured alone, and which admitted nodes beside them may help."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.core.gates.planning.gate_plan import plan_gates
from clusterctl.core.gates.registry import gate_names
from clusterctl.model.errors import LeaseHeldError
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.state import State

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from clusterctl.adapters.store.store import Store
    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.level import Level
    from clusterctl.model.node import Node


def nodes_alone(subjects: Sequence[Subject], level: Level) -> Mapping[str, str]:
    """Node -> why a gate of its level cannot be measured: it needs a second node, and there is none."""
    impossible = plan_gates(subjects, level, gate_names()).impossible
    judged = {s.name for s in subjects if not s.partner}
    return {node: why.why for (_gate, node), why in impossible.items() if why.reason is GateReason.NO_PARTNER and node in judged}


def neighbour_names(store: Store, nodes: Sequence[Node], excluded: Collection[str], count: int, run_id: str) -> tuple[str, ...]:
    """At most `count` admitted nodes of the racks of `nodes` that no other run holds, in rack order."""
    if not count:
        return ()
    racks = {n.place.rack for n in nodes} - {""}
    held = {x.node for x in store.leases() if x.run_id != run_id}
    free = [r.name for r in store.nodes() if r.rack in racks and r.state is State.ADMITTED and r.name not in held]
    return tuple(name for name in free if name not in excluded)[:count]


def hold(store: Store, names: Sequence[str], run_id: str, operator: str) -> bool:
    """Lease them for the run; False where another run was faster."""
    try:
        store.acquire(names, run_id=run_id, holder=operator)
    except LeaseHeldError:
        return False
    return True
