"""Admit: decide on the evidence alone, record it, and only then let a node into the pool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.adapters import clock
from clusterctl.adapters.run_directory import write_admission
from clusterctl.core.admission import record as admission_record
from clusterctl.core.admission.decide import decide_admission
from clusterctl.model.errors import PoolError
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.provision import Phase, PhaseStarted
from clusterctl.model.state import State
from clusterctl.model.verdict import Reason, ReasonKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.model.gate_result import Baseline
    from clusterctl.model.verdict import NodeVerdict
    from clusterctl.workflows.provision.context import RunContext


def admit_nodes(context: RunContext, baselines: Mapping[str, tuple[Baseline, ...]], versions: Mapping[str, str]) -> None:
    """Admit or quarantine every node that came this far."""
    context.notify(PhaseStarted(Phase.ADMIT, tuple(context.active)))
    evidence = context.rundir.digests()
    for name in tuple(context.active):
        node = context.nodes[name]
        gates = context.services.expected_gates(node)
        verdict = decide_admission(
            name,
            expected_roles=tuple(node.spec.roles),
            expected_gates=gates,
            findings=context.findings.get(name),
            gate_results=context.gate_results,
            outcome=context.applied.get(name),
        )
        context.rundir.write_json(f"verdicts/{name}.json", _plain(verdict))
        if not verdict.admit:
            context.quarantine(name, Phase.ADMIT, verdict.reasons)
            continue
        context.move(name, State.BURNED_IN, Phase.ADMIT)
        built = admission_record.build_record(
            verdict,
            run_id=context.run_id,
            spec_digest=node.spec.digest,
            operator=context.operator,
            at=clock.now(),
            expected_roles=tuple(node.spec.roles),
            expected_gates=gates,
            findings=context.findings[name],
            gate_results=context.gate_results,
            baselines=baselines.get(name, ()),
            evidence=evidence,
            versions=versions,
        )
        record = context.services.sign(built)
        write_admission(context.rundir, record)
        context.services.store.save_admission(record)
        _into_pool(context, name)


def _into_pool(context: RunContext, name: str) -> None:
    """The record first, the pool second: killed between the two, a node is proven good and out, and the next run lets it in."""
    context.move(name, State.ADMITTED, Phase.ADMIT)
    try:
        context.services.pool.admit(name, f"admitted in run {context.run_id}")
    except PoolError as e:
        context.move(name, State.DRAINED, Phase.ADMIT, str(e))
        reason = Reason(ReasonKind.REFUSED, str(e), hint=e.hint)
        context.end(name, State.DRAINED, ExitCode.CHANGES_PENDING, str(e), (reason,))
    else:
        context.end(name, State.ADMITTED, ExitCode.OK)


def _plain(verdict: NodeVerdict) -> dict[str, object]:
    return {
        "node": verdict.node,
        "admit": verdict.admit,
        "reasons": [{"kind": r.kind.value, "text": r.text, "device": r.device, "hint": r.hint} for r in verdict.reasons],
        "notes": [r.text for r in verdict.notes],
    }
