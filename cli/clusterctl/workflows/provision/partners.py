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
    from clusterctl.workflows.provision.context import RunContext
    from clusterctl.workflows.provision.knowledge import Knowledge


def with_partners(context: RunContext, known: Knowledge) -> Knowledge:
    """Add neighbours to the partners of the run where they are needed; refuse admitted nodes that stay alone."""
    measured = {p.node for p in known.plan.to_admit}
    return _with_neighbours(context, known, [n for n in context.nodes if n.name in measured])


def with_admitted(context: RunContext, known: Knowledge) -> Knowledge:
    """The nodes that this run has just admitted are partners where one is needed; admitted nodes that stay alone all the same are left."""
    plan = known.plan
    if not plan.to_admit or not _alone(context, known):
        return known
    now = [p.node for p in plan.to_admit if context.results[p.node].state is State.ADMITTED]
    known = replace(known, partners=(*known.partners, *(context.candidates[n].node for n in now)))
    if now:
        context.notify(Note(f"measured with {', '.join(now)}: admitted just now, not changed"))
    known = _with_neighbours(context, known)
    for p in known.plan.nodes:
        if p.node in context.active and p not in plan.nodes:
            context.end(p.node, p.state, p.exit_code, p.why, p.reasons)
    return known


def _with_neighbours(context: RunContext, known: Knowledge, soon: Sequence[Node] = ()) -> Knowledge:
    alone = _alone(context, known, soon)
    if alone:
        nodes = [n for n in context.nodes if n.name in alone]
        found = context.services.neighbours(nodes, known.plan.leaving_pool)
        if found:
            known = replace(known, partners=(*known.partners, *found))
            names = ", ".join(n.name for n in found)
            context.notify(Note(f"measured with {names}: admitted, not changed, and allowed by auto_partners"))
            alone = _alone(context, known, soon)
    return replace(known, plan=refuse_alone(known.plan, alone))


def _alone(context: RunContext, known: Knowledge, soon: Sequence[Node] = ()) -> Mapping[str, str]:
    """`soon`: nodes that will be admitted before anything is measured."""
    names = {p.node for p in known.plan.to_provision}
    return context.services.alone([n for n in context.nodes if n.name in names], (*known.partners, *soon)) if names else {}
