"""Boot the declared kernel: nodes that run another one get it, and boot it, before any later role builds a driver for the running kernel.

DKMS builds modules for the running and the newest kernel only (dkms, common.postinst), which after an installer is often neither the declared one.
One node of a class boots a new kernel alone: one that does not start costs this node, and the others keep running what they run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clusterctl.core.declared_kernel import bring_kernels, first_of_classes, kernel_class, may_run_another_kernel, split_at_kernel
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.provision import Note, Phase
from clusterctl.model.verdict import Reason, ReasonKind
from clusterctl.workflows.provision.apply import by_roles, run_roles
from clusterctl.workflows.provision.reboot import forbidden, reboot_nodes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.workflows.provision.context import RunContext

# GPUs and links need drivers and settings that later roles bring.
_WITHOUT_DEVICES = ("-e", "reboot_wait_devices=false")
# The playbook refuses to start a kernel on several nodes of a class for the first time.
_PROVEN = ("-e", "reboot_kernel_proven=true")


def boot_declared_kernel(context: RunContext) -> None:
    """Apply the roles up to the one that declares the kernel and reboot, where another kernel runs; the other roles are left to be applied."""
    for roles, names in by_roles({n: context.plans[n].roles for n in context.active if _differs(context, n)}).items():
        first, rest = split_at_kernel(roles, context.services.traits)
        run_roles(context, first, names, Phase.APPLY)
        for name in (n for n in names if n in context.active):
            again = tuple(r for r in first if r in context.applied[name].apply_again)
            context.left[name] = (*again, *rest)
    pending = {n: context.applied[n].reboot_required for n in context.active if _requires_boot(context, n)}
    if not context.options.reboot:
        forbidden(context, pending)
        return
    firsts = _firsts(context, pending)
    alone = {n: pending[n] for n in pending if firsts.get(n) == n}
    for name in alone:
        waiting = sum(first == name for first in firsts.values()) - 1
        if waiting:
            context.notify(Note(f"{name} boots {_release(context, name)} alone; {waiting} more of its class follow when it came back"))
    _boot(context, alone)
    others = {n: pending[n] for n in pending if n not in alone}
    for name in (n for n in others if n in firsts and firsts[n] not in context.active):
        _leave_as_it_is(context, name, firsts[name])
    _boot(context, {n: others[n] for n in others if n in context.active}, _PROVEN)


def _firsts(context: RunContext, pending: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    booting = [n for n in context.nodes if n.name in pending]
    others = [n for n in context.nodes if n.name not in pending]
    return first_of_classes(booting, others, context.findings, context.services.traits)


def _boot(context: RunContext, pending: Mapping[str, tuple[str, ...]], extra: tuple[str, ...] = ()) -> None:
    for name, reasons in reboot_nodes(context, pending, (*_WITHOUT_DEVICES, *extra)).items():
        context.quarantine(name, Phase.REBOOT, reasons)
    for name in (n for n in pending if n in context.active):
        context.rebooted[name] = pending[name]
        context.applied[name] = replace(context.applied[name], reboot_required=())


def _leave_as_it_is(context: RunContext, name: str, first: str) -> None:
    """Quarantine a node that keeps its kernel because the first one of its class did not come back with the new one."""
    text = f"not rebooted: {first} was to boot {_release(context, name)} first and failed: {context.results[first].reason}"
    hint = f"see {first}; its earlier kernel starts at the next power cycle (`clusterctl power cycle {first}`). Then provision both again, with --retest"
    context.quarantine(name, Phase.REBOOT, (Reason(ReasonKind.CHECKS_MISSING, text, hint=hint),), ExitCode.CHANGES_PENDING)


def _release(context: RunContext, name: str) -> str:
    return kernel_class(context.candidates[name].node, context.services.traits)[0]


def _differs(context: RunContext, name: str) -> bool:
    traits = context.services.traits
    return bring_kernels(context.plans[name].roles, traits) and may_run_another_kernel(context.findings[name], traits)


def _requires_boot(context: RunContext, name: str) -> bool:
    return name in context.applied and bring_kernels(context.applied[name].reboot_required, context.services.traits)
