"""Verify: ask the nodes again after they were changed; a failing check keeps a node out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.core.admission.decide import decide_admission
from clusterctl.model.provision import Phase, PhaseStarted
from clusterctl.model.state import State
from clusterctl.model.verdict import ReasonKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.workflows.provision.context import RunContext

_GATE_KINDS = frozenset({ReasonKind.GATE_FAILED, ReasonKind.GATE_COULD_NOT_RUN, ReasonKind.GATE_MISSING})


def verify_nodes(context: RunContext) -> None:
    """Validate the nodes that were changed, take the first round's word for the others, and drop those that are not as declared."""
    changed = [n for n in context.active_nodes() if context.plans[n.name].roles]
    # What only a rack together can show needs those that were not changed, too.
    _save(context, [n for n in context.active if not context.plans[n].roles])
    if changed:
        context.notify(PhaseStarted(Phase.VERIFY, tuple(n.name for n in changed)))
        context.findings |= {f.node: f for f in context.services.validate(changed)}
        _save(context, [n.name for n in changed])
    for name in tuple(context.active):
        findings = context.findings.get(name)
        verdict = decide_admission(
            name,
            expected_roles=tuple(context.nodes[name].spec.roles),
            expected_gates=(),
            findings=findings,
            gate_results=(),
            outcome=context.applied.get(name),
        )
        against = tuple(r for r in verdict.reasons if r.kind not in _GATE_KINDS)
        if against:
            context.quarantine(name, Phase.VERIFY, against)
        else:
            context.move(name, State.VALIDATED, Phase.VERIFY)


def _save(context: RunContext, names: Sequence[str]) -> None:
    context.services.store.save_findings(context.run_id, *(context.findings[n] for n in names if n in context.findings))
