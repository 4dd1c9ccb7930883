"""Admit the nodes that an earlier run measured and did not get to admit: on its evidence, and as declared now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.model.playbook_result import HostOutcome, HostStatus
from clusterctl.model.provision import Phase, PhaseStarted
from clusterctl.workflows.admit import stored_evidence
from clusterctl.workflows.provision.decide import decide_and_admit

if TYPE_CHECKING:
    from clusterctl.workflows.provision.context import RunContext
    from clusterctl.workflows.provision.knowledge import Knowledge


def admit_measured(context: RunContext, known: Knowledge) -> Knowledge:
    """Decide again, on what is stored and the findings of this run; what is no longer enough is quarantined."""
    plan = known.plan
    if not plan.to_admit:
        return known
    context.notify(PhaseStarted(Phase.ADMIT, tuple(p.node for p in plan.to_admit), "measured before"))
    store = context.services.store
    for p in plan.to_admit:
        store.save_findings(context.run_id, known.findings[p.node])
        results = store.gate_results(p.node, current=True)
        known = known.measured(results)
        evidence = stored_evidence(store, p.node, known.findings[p.node], results)
        decide_and_admit(context, p.node, evidence, p.state, HostOutcome(p.node, HostStatus.OK))
    return known
