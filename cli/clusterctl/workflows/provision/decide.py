"""Admit: decide on the evidence, then admit or quarantine each node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.core.admission.decide import decide_admission
from clusterctl.model.errors import PoolError
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.provision import Phase, PhaseStarted
from clusterctl.model.state import State
from clusterctl.workflows.admit import AdmissionEvidence, refused

if TYPE_CHECKING:
    from clusterctl.model.playbook_result import HostOutcome
    from clusterctl.model.verdict import NodeVerdict
    from clusterctl.workflows.provision.context import RunContext


def admit_nodes(context: RunContext) -> None:
    """Admit or quarantine every node that is still active."""
    context.notify(PhaseStarted(Phase.ADMIT, tuple(context.active)))
    digests = context.rundir.digests()
    for name in tuple(context.active):
        found = context.findings.get(name)
        evidence = AdmissionEvidence(found, context.gate_results, (context.rundir,), digests) if found else None
        decide_and_admit(context, name, evidence, State.VALIDATED, context.applied.get(name))


def decide_and_admit(context: RunContext, name: str, evidence: AdmissionEvidence | None, state: State, outcome: HostOutcome | None) -> None:
    """Decide on one node, and admit or quarantine it. `outcome` is what applying its roles came to."""
    candidate = context.candidates[name]
    verdict = decide_admission(
        name,
        expected_roles=tuple(candidate.node.spec.roles),
        expected_gates=candidate.gates,
        findings=evidence.findings if evidence else None,
        gate_results=evidence.gate_results if evidence else (),
        outcome=outcome,
    )
    context.rundir.write_json(f"verdicts/{name}.json", _plain(verdict))
    if verdict.admit and evidence:
        _enter_pool(context, name, verdict, evidence, state)
    else:
        context.quarantine(name, Phase.ADMIT, verdict.reasons)


def _enter_pool(context: RunContext, name: str, verdict: NodeVerdict, evidence: AdmissionEvidence, state: State) -> None:
    def step(to: State, reason: str) -> None:
        context.move(name, to, Phase.ADMIT, reason)

    try:
        context.services.admitter.enter_pool(context.candidates[name], verdict, evidence, state, step)
    except PoolError as e:
        context.end(name, State.DRAINED, ExitCode.CHANGES_PENDING, str(e), refused(verdict, e).reasons)
    else:
        context.end(name, State.ADMITTED, ExitCode.OK)


def _plain(verdict: NodeVerdict) -> dict[str, object]:
    return {
        "node": verdict.node,
        "admit": verdict.admit,
        "reasons": [{"kind": r.kind.value, "text": r.text, "device": r.device, "hint": r.hint} for r in verdict.reasons],
        "notes": [r.text for r in verdict.notes],
    }
