"""Check: one round trip to every node, then the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.core.provision_plan import PlanInput, make_plan
from clusterctl.model.provision import Phase, PhaseStarted

if TYPE_CHECKING:
    from clusterctl.model.node import Node
    from clusterctl.model.provision import Plan
    from clusterctl.workflows.provision.context import RunContext


def check_nodes(context: RunContext) -> Plan:
    """Ask every node how it stands, and decide what is to be done with it. Changes nothing.

    Raises:
        PlanMovedError: the nodes are not as the plan says that was agreed to.
    """
    nodes = list(context.nodes.values())
    context.notify(PhaseStarted(Phase.CHECK, tuple(context.nodes)))
    context.findings = {f.node: f for f in context.services.validate(nodes)}
    context.services.agreed(nodes, context.findings)
    plan = make_plan([_subject(context, n) for n in nodes], context.options)
    context.plans = {p.node: p for p in plan.nodes}
    return plan


def _subject(context: RunContext, node: Node) -> PlanInput:
    store = context.services.store
    record = store.node(node.name)
    assert record is not None, "every node was registered before"  # noqa: S101
    moved = store.history(node.name)
    last = moved[-1].run_id if moved else ""
    return PlanInput(
        node,
        record,
        context.findings[node.name],
        store.findings(node.name, last) if last else None,
        store.gate_results(node.name, last) if last else (),
        context.services.expected_gates(node),
    )
