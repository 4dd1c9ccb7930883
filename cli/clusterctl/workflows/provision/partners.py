"""Nodes that would be measured alone: admitted neighbours are found for them if the site allows it, or no admitted node is taken out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clusterctl.core.plan import refuse_alone
from clusterctl.model.provision import Note
from clusterctl.model.state import State

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.model.node import Node
    from clusterctl.model.plan import Plan
    from clusterctl.workflows.provision.context import RunContext


def with_partners(context: RunContext, plan: Plan) -> Plan:
    """Add neighbours to the partners of the run where they are needed; refuse admitted nodes that stay alone."""
    soon = [n for n in context.nodes if n.name in {p.node for p in plan.to_admit}]
    alone = _alone(context, plan, soon)
    if alone:
        nodes = [n for n in context.nodes if n.name in alone]
        found = context.services.neighbours(nodes, plan.leaving_pool)
        if found:
            context.partners = (*context.partners, *found)
            names = ", ".join(n.name for n in found)
            context.notify(Note(f"measured with {names}: admitted, not changed, and allowed by auto_partners"))
            alone = _alone(context, plan, soon)
    changed = refuse_alone(plan, alone)
    context.plans |= {p.node: p for p in changed.nodes}
    return changed


def with_admitted(context: RunContext, plan: Plan) -> Plan:
    """The nodes that this run has just admitted are partners where one is needed; admitted nodes that stay alone all the same are left."""
    if not plan.to_admit or not _alone(context, plan):
        return plan
    now = [p.node for p in plan.to_admit if context.results[p.node].state is State.ADMITTED]
    context.partners = (*context.partners, *(context.candidates[n].node for n in now))
    if now:
        context.notify(Note(f"measured with {', '.join(now)}: admitted just now, not changed"))
    changed = with_partners(context, replace(plan, nodes=tuple(p for p in plan.nodes if p not in plan.to_admit)))
    for p in changed.nodes:
        if p.node in context.active and p not in plan.nodes:
            context.end(p.node, p.state, p.exit_code, p.why, p.reasons)
    return changed


def _alone(context: RunContext, plan: Plan, soon: Sequence[Node] = ()) -> Mapping[str, str]:
    """`soon`: nodes that will be admitted before anything is measured."""
    names = {p.node for p in plan.to_provision}
    return context.services.alone([n for n in context.nodes if n.name in names], (*context.partners, *soon)) if names else {}
