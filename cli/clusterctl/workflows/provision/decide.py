"""Admit: decide on the evidence, then admit or quarantine each node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.adapters.pools.read_back import put_in
from clusterctl.core.admission.decide import decide_admission
from clusterctl.model.errors import IllegalTransitionError, PoolError
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.playbook_result import HostOutcome, HostStatus
from clusterctl.model.provision import Phase, PhaseStarted
from clusterctl.model.state import State
from clusterctl.workflows.admit import AdmissionEvidence, refused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.gate_result import GateResult
    from clusterctl.model.verdict import NodeVerdict
    from clusterctl.workflows.provision.context import RunContext
    from clusterctl.workflows.provision.knowledge import Knowledge


def admit_nodes(context: RunContext, known: Knowledge) -> Knowledge:
    """Admit or quarantine every node that is still active."""
    context.notify(PhaseStarted(Phase.ADMIT, tuple(context.active)))
    digests = context.rundir.digests()
    for name in tuple(context.active):
        found = known.findings.get(name)
        evidence = AdmissionEvidence(found, known.gate_results, (context.rundir,), digests) if found else None
        decide_and_admit(context, name, evidence, State.VALIDATED, known.changes.outcomes.get(name))
    return known


def decide_and_admit(context: RunContext, name: str, evidence: AdmissionEvidence | None, state: State, outcome: HostOutcome | None) -> None:
    """Decide on one node, and admit or quarantine it. `outcome` is what applying its roles came to."""
    verdict = _verdict(context, name, evidence.findings if evidence else None, evidence.gate_results if evidence else (), outcome)
    if verdict.admit and evidence:
        _enter_pool(context, name, verdict, evidence, state)
    else:
        context.quarantine(name, Phase.ADMIT, verdict.reasons)


def return_to_pool(context: RunContext, findings: NodeFindings) -> None:
    """Decide anew on an admitted node that is not in the pool: on all of its checks and on what was measured. It enters, or is drained."""
    name = findings.node
    results = context.services.store.gate_results(name, current=True)
    verdict = _verdict(context, name, findings, results, HostOutcome(name, HostStatus.OK))
    if not verdict.admit:
        if context.move(name, State.DRAINED, Phase.CHECK, f"not in the pool, and not proven good: {verdict.summary}", verdict.reasons[0]):
            context.end(name, State.DRAINED, ExitCode.CHANGES_PENDING, verdict.summary, verdict.reasons)
        return
    try:
        put_in(context.services.pool, name, f"admitted before; seen as declared in run {context.run_id}")
    except PoolError as e:
        context.end(name, State.ADMITTED, ExitCode.CHANGES_PENDING, str(e), refused(verdict, e).reasons)
    else:
        context.end(name, State.ADMITTED, ExitCode.OK)


def _verdict(
    context: RunContext, name: str, findings: NodeFindings | None, results: Sequence[GateResult], outcome: HostOutcome | None
) -> NodeVerdict:
    """The decision, also written into the run's directory."""
    candidate = context.candidates[name]
    verdict = decide_admission(
        name,
        expected_roles=tuple(candidate.node.spec.roles),
        expected_gates=candidate.gates,
        findings=findings,
        gate_results=results,
        outcome=outcome,
    )
    context.rundir.write_json(f"verdicts/{name}.json", _plain(verdict))
    return verdict


def _enter_pool(context: RunContext, name: str, verdict: NodeVerdict, evidence: AdmissionEvidence, state: State) -> None:
    def step(to: State, reason: str) -> None:
        context.step(name, to, Phase.ADMIT, reason)

    try:
        context.services.admitter.enter_pool(context.candidates[name], verdict, evidence, state, step)
    except IllegalTransitionError as e:
        context.refuse(name, e)
    except PoolError as e:
        context.end(name, State.DRAINED, ExitCode.CHANGES_PENDING, str(e), refused(verdict, e).reasons)
    else:
        context.end(name, State.ADMITTED, ExitCode.OK)


def _plain(verdict: NodeVerdict) -> dict[str, object]:
    return {
        "node": verdict.node,
        "admit": verdict.admit,
        "reasons": [r.to_json() for r in verdict.reasons],
        "notes": [r.text for r in verdict.notes],
    }
