"""Boot the declared kernel: nodes that run another one get it, and boot it, before any later role builds a driver for the running kernel.

DKMS builds modules for the running and the newest kernel only (dkms, common.postinst), which after an installer is often neither the declared one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clusterctl.core.declared_kernel import bring_kernels, may_run_another_kernel, split_at_kernel
from clusterctl.model.provision import Phase
from clusterctl.workflows.provision.apply import by_roles, run_roles
from clusterctl.workflows.provision.reboot import forbidden, reboot_nodes

if TYPE_CHECKING:
    from clusterctl.workflows.provision.context import RunContext

# GPUs and links need drivers and settings that later roles bring.
_WITHOUT_DEVICES = ("-e", "reboot_wait_devices=false")


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
    for name, reasons in reboot_nodes(context, pending, _WITHOUT_DEVICES).items():
        context.quarantine(name, Phase.REBOOT, reasons)
    for name in (n for n in pending if n in context.active):
        context.rebooted[name] = pending[name]
        context.applied[name] = replace(context.applied[name], reboot_required=())


def _differs(context: RunContext, name: str) -> bool:
    traits = context.services.traits
    return bring_kernels(context.plans[name].roles, traits) and may_run_another_kernel(context.findings[name], traits)


def _requires_boot(context: RunContext, name: str) -> bool:
    return name in context.applied and bring_kernels(context.applied[name].reboot_required, context.services.traits)
