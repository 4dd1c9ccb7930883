"""Burn in: measure the active nodes together and save the gate results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.model.provision import Phase, PhaseStarted, TaskSeen

if TYPE_CHECKING:
    from clusterctl.workflows.provision.context import RunContext


def burn_in(context: RunContext) -> None:
    """Run the gates of the chosen level on all active nodes, with the partners."""
    context.notify(PhaseStarted(Phase.BURN_IN, tuple(context.active), context.options.level))
    results = context.services.burn_in(
        context.active_nodes(), context.partners, lambda event: context.notify(TaskSeen(Phase.BURN_IN, event))
    )
    judged = [r for r in results if r.node in context.active]
    context.gate_results += judged
    context.services.store.save_gate_results(context.run_id, judged)
