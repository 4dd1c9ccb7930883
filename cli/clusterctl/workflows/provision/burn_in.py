"""Burn in: measure the active nodes together, save the gate results, and validate the nodes again after the load."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.core.admission.decide import gate_text
from clusterctl.model.gate_result import Outcome
from clusterctl.model.provision import Note, Phase, PhaseStarted, TaskSeen
from clusterctl.workflows.provision.validate_again import validate_again

if TYPE_CHECKING:
    from clusterctl.workflows.provision.context import RunContext
    from clusterctl.workflows.provision.knowledge import Knowledge


def burn_in(context: RunContext, known: Knowledge) -> Knowledge:
    """Run the gates of the chosen level on all active nodes, with the partners.

    What is admitted is the node as the load left it: the findings from before the load are replaced by new ones.
    """
    context.notify(PhaseStarted(Phase.BURN_IN, tuple(context.active), context.options.level))
    results = context.services.burn_in(context.active_nodes(), known.partners, lambda event: context.notify(TaskSeen(Phase.BURN_IN, event)))
    judged = [r for r in results if r.node in context.active]
    for warning in (r for r in judged if r.outcome is Outcome.WARN):
        context.notify(Note(f"warning: {warning.node}: {gate_text(warning)}"))
    context.services.store.save_gate_results(context.run_id, judged, context.options.level)
    context.notify(PhaseStarted(Phase.VERIFY, tuple(context.active), "after the load"))
    known = known.measured(judged).found(validate_again(context, context.active_nodes()))
    context.services.store.save_findings(context.run_id, *(known.findings[n] for n in context.active))
    return known
