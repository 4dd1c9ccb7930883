"""Verify: validate the nodes that were changed; a failing check keeps a node out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.core.admission.decide import configuration_reasons
from clusterctl.model.provision import Note, Phase, PhaseStarted
from clusterctl.model.state import State
from clusterctl.workflows.parts import record_parts
from clusterctl.workflows.provision.power_cycle import bring_cold_settings
from clusterctl.workflows.provision.validate_again import validate_again

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.model.node import Node
    from clusterctl.model.verdict import Reason
    from clusterctl.workflows.provision.context import RunContext
    from clusterctl.workflows.provision.knowledge import Knowledge


def verify_nodes(context: RunContext, known: Knowledge) -> Knowledge:
    """Validate the nodes that were changed, keep the first findings of the others, and quarantine those that are not as declared.

    Nodes that all passed together since anything was done are not validated again: their settings were read back after the reboot.
    A setting that is stored and that the reboot did not bring gets a power cycle before it is judged.
    """
    plans = known.plans
    changed = [n for n in context.active_nodes() if plans[n.name].roles]
    # What only a whole rack can show needs the findings of the nodes that were not changed, too.
    _save(context, known, [n for n in context.active if not plans[n].roles])
    if changed:
        context.notify(PhaseStarted(Phase.VERIFY, tuple(n.name for n in changed)))
        if not _passed_together(known, changed):
            known = known.found(validate_again(context, changed))
        cycled = bring_cold_settings(context, known)
        if cycled:
            context.notify(PhaseStarted(Phase.VERIFY, tuple(n.name for n in cycled), "after the power cycle"))
            # All of them, because findings of a node are of its rack, too.
            known = known.found(validate_again(context, [n for n in changed if n.name in context.active]))
            known = known.changed(known.changes.cycled([n.name for n in cycled]))
        _save(context, known, [n.name for n in changed])
    for node in context.active_nodes():
        reasons = _reasons(known, node)
        if reasons:
            context.quarantine(node.name, Phase.VERIFY, reasons)
        else:
            context.move(node.name, State.VALIDATED, Phase.VERIFY)
    _record_parts(context)
    return known


def _passed_together(known: Knowledge, nodes: Sequence[Node]) -> bool:
    """What fails is looked at again, because what the reboot started may take a while; a part of the nodes cannot show what only all of them do."""
    return known.unchanged_since.issuperset(n.name for n in nodes) and not any(_reasons(known, n) for n in nodes)


def _reasons(known: Knowledge, node: Node) -> tuple[Reason, ...]:
    return configuration_reasons(
        node.name,
        expected_roles=tuple(node.spec.roles),
        findings=known.findings.get(node.name),
        outcome=known.changes.outcomes.get(node.name),
    )


def _record_parts(context: RunContext) -> None:
    """Record the serials of nodes that are as declared, which have all tools; a part that cannot be read is reported and keeps no node out."""
    found = context.services.read_parts(context.active_nodes()) if context.active else ()
    for node in found:
        if node.problem:
            context.notify(Note(f"{node.node}: parts not read: {node.problem}"))
    for replaced in record_parts(context.services.store, context.run_id, found):
        context.notify(Note(f"{replaced.node}: {replaced.text}"))


def _save(context: RunContext, known: Knowledge, names: Sequence[str]) -> None:
    context.services.store.save_findings(context.run_id, *(known.findings[n] for n in names if n in known.findings))
