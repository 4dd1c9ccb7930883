"""Verify: validate the nodes that were changed; a failing check keeps a node out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.core.admission.decide import configuration_reasons
from clusterctl.model.provision import Note, Phase, PhaseStarted
from clusterctl.model.state import State
from clusterctl.workflows.parts import record_parts
from clusterctl.workflows.provision.power_cycle import bring_cold_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.workflows.provision.context import RunContext


def verify_nodes(context: RunContext) -> None:
    """Validate the nodes that were changed, keep the first findings of the others, and quarantine those that are not as declared.

    A setting that is stored and that the reboot did not bring gets a power cycle before it is judged.
    """
    changed = [n for n in context.active_nodes() if context.plans[n.name].roles]
    # What only a whole rack can show needs the findings of the nodes that were not changed, too.
    _save(context, [n for n in context.active if not context.plans[n].roles])
    if changed:
        context.notify(PhaseStarted(Phase.VERIFY, tuple(n.name for n in changed)))
        context.findings |= {f.node: f for f in context.services.validate(changed)}
        cycled = bring_cold_settings(context)
        if cycled:
            context.notify(PhaseStarted(Phase.VERIFY, tuple(n.name for n in cycled), "after the power cycle"))
            context.findings |= {f.node: f for f in context.services.validate(cycled)}
        _save(context, [n.name for n in changed])
    for node in context.active_nodes():
        reasons = configuration_reasons(
            node.name,
            expected_roles=tuple(node.spec.roles),
            findings=context.findings.get(node.name),
            outcome=context.applied.get(node.name),
        )
        if reasons:
            context.quarantine(node.name, Phase.VERIFY, reasons)
        else:
            context.move(node.name, State.VALIDATED, Phase.VERIFY)
    _record_parts(context)


def _record_parts(context: RunContext) -> None:
    """Record the serials of nodes that are as declared, which have all tools; a part that cannot be read is reported and keeps no node out."""
    found = context.services.read_parts(context.active_nodes()) if context.active else ()
    for node in found:
        if node.problem:
            context.notify(Note(f"{node.node}: parts not read: {node.problem}"))
    for replaced in record_parts(context.services.store, context.run_id, found):
        context.notify(Note(f"{replaced.node}: {replaced.text}"))


def _save(context: RunContext, names: Sequence[str]) -> None:
    context.services.store.save_findings(context.run_id, *(context.findings[n] for n in names if n in context.findings))
