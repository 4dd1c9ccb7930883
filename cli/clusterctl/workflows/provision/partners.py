"""Nodes that would be measured alone: admitted neighbours are found for them if the site allows it, or no admitted node is taken out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.core.plan import refuse_alone
from clusterctl.model.provision import Note

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.model.plan import Plan
    from clusterctl.workflows.provision.context import RunContext


def with_partners(context: RunContext, plan: Plan) -> Plan:
    """Add neighbours to the partners of the run where they are needed; refuse admitted nodes that stay alone."""
    alone = _alone(context, plan)
    if alone:
        nodes = [n for n in context.nodes if n.name in alone]
        found = context.services.neighbours(nodes, plan.leaving_pool)
        if found:
            context.partners = (*context.partners, *found)
            names = ", ".join(n.name for n in found)
            context.notify(Note(f"measured with {names}: admitted, not changed, and allowed by auto_partners"))
            alone = _alone(context, plan)
    changed = refuse_alone(plan, alone)
    context.plans = {p.node: p for p in changed.nodes}
    return changed


def _alone(context: RunContext, plan: Plan) -> Mapping[str, str]:
    names = {p.node for p in plan.to_provision}
    return context.services.alone([n for n in context.nodes if n.name in names], context.partners) if names else {}
