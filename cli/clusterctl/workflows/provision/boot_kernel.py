"""Boot the declared kernel: nodes that run another one get it, and boot it, before any later role builds a driver for the running kernel.

DKMS builds modules for the running and the newest kernel only (dkms, common.postinst), which after an installer is often neither the declared one.
One node of a class boots a new kernel alone: one that does not start costs this node, and the others keep running what they run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.core.declared_kernel import bring_kernels, first_of_classes, kernel_class, may_run_another_kernel, split_at_kernel
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.provision import Note, Phase
from clusterctl.model.verdict import Reason, ReasonKind
from clusterctl.workflows.provision.apply import by_roles, run_roles
from clusterctl.workflows.provision.reboot import forbidden, read_back, reboot_nodes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.model.plan import NodePlan
    from clusterctl.workflows.provision.context import RunContext
    from clusterctl.workflows.provision.knowledge import Knowledge

# GPUs and links need drivers and settings that later roles bring.
_WITHOUT_DEVICES = ("-e", "reboot_wait_devices=false")
# The playbook refuses to start a kernel on several nodes of a class for the first time.
_PROVEN = ("-e", "reboot_kernel_proven=true")


def boot_declared_kernel(context: RunContext, known: Knowledge) -> Knowledge:
    """Apply the roles up to the one that declares the kernel and reboot, where another kernel runs; the other roles are left to be applied."""
    differing = {n: plan.roles for n, plan in known.plans.items() if n in context.active and _differs(context, known, plan)}
    for roles, names in by_roles(differing).items():
        first, rest = split_at_kernel(roles, context.services.traits)
        known = run_roles(context, known, first, names, Phase.APPLY)
        outcomes = known.changes.outcomes
        left = {n: (*(r for r in first if r in outcomes[n].apply_again), *rest) for n in names if n in context.active}
        known = known.changed(known.changes.leave(left))
    pending = {n: roles for n, roles in known.changes.pending(context.active).items() if bring_kernels(roles, context.services.traits)}
    if not context.options.reboot:
        forbidden(context, pending)
        return known
    firsts = _firsts(context, known, pending)
    alone = {n: pending[n] for n in pending if firsts.get(n) == n}
    for name in alone:
        waiting = sum(first == name for first in firsts.values()) - 1
        if waiting:
            context.notify(Note(f"{name} boots {_release(context, name)} alone; {waiting} more of its class follow when it came back"))
    known = _boot(context, known, alone)
    others = {n: pending[n] for n in pending if n not in alone}
    for name in (n for n in others if n in firsts and firsts[n] not in context.active):
        _leave_as_it_is(context, name, firsts[name])
    return _without_what_passes(context, _boot(context, known, {n: others[n] for n in others if n in context.active}, _PROVEN))


def _without_what_passes(context: RunContext, known: Knowledge) -> Knowledge:
    """Leave out the roles that would run again only to read back what they stored, and whose checks pass after the reboot."""
    left, outcomes = known.changes.left, known.changes.outcomes
    stored = {n: tuple(r for r in left[n] if r in outcomes[n].apply_again) for n in left if n in context.active}
    known, again = read_back(context, known, {n: roles for n, roles in stored.items() if roles})
    return known.changed(
        known.changes.leave({n: tuple(r for r in left[n] if r not in roles or r in again.get(n, ())) for n, roles in stored.items()})
    )


def _firsts(context: RunContext, known: Knowledge, pending: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    booting = [n for n in context.nodes if n.name in pending]
    others = [n for n in context.nodes if n.name not in pending]
    return first_of_classes(booting, others, known.findings, context.services.traits)


def _boot(context: RunContext, known: Knowledge, pending: Mapping[str, tuple[str, ...]], extra: tuple[str, ...] = ()) -> Knowledge:
    for name, reasons in reboot_nodes(context, known.changes, pending, (*_WITHOUT_DEVICES, *extra)).items():
        context.quarantine(name, Phase.REBOOT, reasons)
    booted = {n: roles for n, roles in pending.items() if n in context.active}
    return known.changed(known.changes.rebooting(booted).settled(booted))


def _leave_as_it_is(context: RunContext, name: str, first: str) -> None:
    """Quarantine a node that keeps its kernel because the first one of its class did not come back with the new one."""
    text = f"not rebooted: {first} was to boot {_release(context, name)} first and failed: {context.results[first].reason}"
    hint = f"see {first}; its earlier kernel starts at the next power cycle (`clusterctl power cycle {first}`). Then provision both again, with --retest"
    context.quarantine(name, Phase.REBOOT, (Reason(ReasonKind.CHECKS_MISSING, text, hint=hint),), ExitCode.CHANGES_PENDING)


def _release(context: RunContext, name: str) -> str:
    return kernel_class(context.candidates[name].node, context.services.traits)[0]


def _differs(context: RunContext, known: Knowledge, plan: NodePlan) -> bool:
    traits = context.services.traits
    return bring_kernels(plan.roles, traits) and may_run_another_kernel(known.findings[plan.node], traits)
