"""Plans from findings only: each node has the roles of its findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.adapters.validator_declarations import read_traits
from clusterctl.core.plan import PlanInput, make_plan
from clusterctl.model.node import Connection, Node, NodeSpec, Place
from clusterctl.model.provision import ProvisionOptions
from clusterctl.model.records import NodeRecord
from clusterctl.model.state import State

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.plan import Plan


def plan_of(results: Iterable[NodeFindings], state: State = State.REGISTERED) -> Plan:
    """The plan for nodes with these findings."""
    return make_plan([_input(r, state) for r in results], ProvisionOptions(), read_traits(()))


def _input(found: NodeFindings, state: State) -> PlanInput:
    roles: dict[str, dict[str, object]] = {f.role: {} for f in found.findings}
    node = Node(found.node, (), Connection(found.node), Place(), NodeSpec(roles, {}, (), "d1"))
    record = NodeRecord(found.node, "r1", 1, (), state, "", "d1", "", "", "lab")
    return PlanInput(node, record, found)
