"""Verify: ask the nodes again after they were changed; a failing check keeps a node out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.admission import ReasonKind, decide
from clusterctl.lifecycle import State
from clusterctl.provisioning.model import Step, StepStarted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.provisioning.work import Work

_GATE_KINDS = frozenset({ReasonKind.GATE_FAILED, ReasonKind.GATE_COULD_NOT_RUN, ReasonKind.GATE_MISSING})


def verify(work: Work) -> None:
    """Validate the nodes that were changed, take the first round's word for the others, and drop those that are not as declared."""
    changed = [n for n in work.living() if work.plans[n.name].roles]
    # What only a rack together can show needs those that were not changed, too.
    _save(work, [n for n in work.alive if not work.plans[n].roles])
    if changed:
        work.tell(StepStarted(Step.VERIFY, tuple(n.name for n in changed)))
        work.findings |= {f.node: f for f in work.edges.validate(changed)}
        _save(work, [n.name for n in changed])
    for name in tuple(work.alive):
        findings = work.findings.get(name)
        verdict = decide(
            name,
            expected_roles=tuple(work.nodes[name].spec.roles),
            expected_gates=(),
            findings=findings,
            gate_results=(),
            outcome=work.applied.get(name),
        )
        against = tuple(r for r in verdict.reasons if r.kind not in _GATE_KINDS)
        if against:
            work.quarantine(name, Step.VERIFY, against)
        else:
            work.move(name, State.VALIDATED, Step.VERIFY)


def _save(work: Work, names: Sequence[str]) -> None:
    work.edges.store.save_findings(work.run_id, *(work.findings[n] for n in names if n in work.findings))
