"""Burn in: measure what is left of the nodes together, and keep the verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.provisioning.model import Step, StepStarted, TaskSeen

if TYPE_CHECKING:
    from clusterctl.provisioning.work import Work


def burn_in(work: Work) -> None:
    """Run the gates of the chosen level over all living nodes, with the partners."""
    work.tell(StepStarted(Step.BURN_IN, tuple(work.alive), work.options.level))
    results = work.edges.burn_in(work.living(), work.partners, lambda event: work.tell(TaskSeen(Step.BURN_IN, event)))
    work.gate_results = [r for r in results if r.node in work.alive]
    work.edges.store.save_gate_results(work.run_id, work.gate_results)
