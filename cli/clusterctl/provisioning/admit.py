"""Admit: decide on the evidence alone, record it, and only then let a node into the pool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl import admission_record, clock
from clusterctl.admission import Reason, ReasonKind, decide
from clusterctl.errors import PoolError
from clusterctl.exit_codes import ExitCode
from clusterctl.lifecycle import State
from clusterctl.provisioning.model import Step, StepStarted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.admission import NodeVerdict
    from clusterctl.gates.model import Baseline
    from clusterctl.provisioning.work import Work


def admit(work: Work, baselines: Mapping[str, tuple[Baseline, ...]], versions: Mapping[str, str]) -> None:
    """Admit or quarantine every node that came this far."""
    work.tell(StepStarted(Step.ADMIT, tuple(work.alive)))
    evidence = work.rundir.digests()
    for name in tuple(work.alive):
        node = work.nodes[name]
        gates = work.edges.expected_gates(node)
        verdict = decide(
            name,
            expected_roles=tuple(node.spec.roles),
            expected_gates=gates,
            findings=work.findings.get(name),
            gate_results=work.gate_results,
            outcome=work.applied.get(name),
        )
        work.rundir.write_json(f"verdicts/{name}.json", _plain(verdict))
        if not verdict.admit:
            work.quarantine(name, Step.ADMIT, verdict.reasons)
            continue
        work.move(name, State.BURNED_IN, Step.ADMIT)
        built = admission_record.build(
            verdict,
            run_id=work.run_id,
            spec_digest=node.spec.digest,
            operator=work.operator,
            at=clock.now(),
            expected_roles=tuple(node.spec.roles),
            expected_gates=gates,
            findings=work.findings[name],
            gate_results=work.gate_results,
            baselines=baselines.get(name, ()),
            evidence=evidence,
            versions=versions,
        )
        record = work.edges.sign(built)
        admission_record.write(record, work.rundir)
        work.edges.store.save_admission(record)
        _into_pool(work, name)


def _into_pool(work: Work, name: str) -> None:
    """The record first, the pool second: killed between the two, a node is proven good and out, and the next run lets it in."""
    work.move(name, State.ADMITTED, Step.ADMIT)
    try:
        work.edges.pool.admit(name, f"admitted in run {work.run_id}")
    except PoolError as e:
        work.move(name, State.DRAINED, Step.ADMIT, str(e))
        reason = Reason(ReasonKind.REFUSED, str(e), hint=e.hint)
        work.end(name, State.DRAINED, ExitCode.CHANGES_PENDING, str(e), (reason,))
    else:
        work.end(name, State.ADMITTED, ExitCode.OK)


def _plain(verdict: NodeVerdict) -> dict[str, object]:
    return {
        "node": verdict.node,
        "admit": verdict.admit,
        "reasons": [{"kind": r.kind.value, "text": r.text, "device": r.device, "hint": r.hint} for r in verdict.reasons],
        "notes": [r.text for r in verdict.notes],
    }
