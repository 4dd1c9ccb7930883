"""Power cycle: nodes on which a warm reboot did not bring a stored setting, by their BMCs, within the reboot budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.adapters.ansible.runner import PlaybookRequest
from clusterctl.core.cold_settings import COLD_ROLES, awaiting_power_cycle
from clusterctl.model.findings import NodeStatus
from clusterctl.model.playbook_result import HostStatus
from clusterctl.model.power import PowerOutcome
from clusterctl.model.provision import Note, Phase, PhaseStarted
from clusterctl.model.verdict import Reason, ReasonKind
from clusterctl.workflows.provision.apply import OUT_OF_POOL, failed

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from clusterctl.model.node import Node
    from clusterctl.workflows.provision.context import RunContext

_WAIT_S = 1800


def bring_cold_settings(context: RunContext) -> list[Node]:
    """Power-cycle the rebooted nodes that lack a stored setting of a role that required the reboot. Returns them, to be validated again."""
    waiting = []
    for name in tuple(context.active):
        found = context.findings.get(name)
        roles = context.rebooted.get(name, ())
        checks = awaiting_power_cycle(found.findings, roles) if found and found.status is NodeStatus.OK else ()
        if checks:
            more = f" and {len(checks) - 1} more" if len(checks) > 1 else ""
            context.notify(Note(f"{name}: the reboot did not bring {checks[0]}{more}"))
            waiting.append(name)
    cycled = power_cycle(context, waiting)
    return [n for n in context.active_nodes() if n.name in cycled]


def can_be_cycled(context: RunContext, name: str, roles: Collection[str]) -> bool:
    """Whether a power cycle may bring what these roles wait for, and the node has a BMC to ask for it."""
    return bool(COLD_ROLES.intersection(roles) and context.candidates[name].node.bmc_url)


def power_cycle(context: RunContext, names: Sequence[str]) -> tuple[str, ...]:
    """Power-cycle active nodes, which are out of the pool. Returns those that came back with all devices.

    One that does not come back is quarantined. One whose BMC refuses stays as it is.
    """
    if not names:
        return ()
    context.notify(PhaseStarted(Phase.REBOOT, tuple(names), "power cycle"))
    cycled = []
    for report in context.services.power_cycle([context.candidates[n].node for n in names]):
        if report.outcome is PowerOutcome.DONE:
            cycled.append(report.node)
        elif report.down:
            text, hint = f"power cycle: {report.detail}", f"`clusterctl bmc {report.node}` shows its log"
            context.quarantine(report.node, Phase.REBOOT, (Reason(ReasonKind.UNREACHABLE, text, hint=hint),))
        else:
            context.notify(Note(f"{report.node}: not power-cycled: {report.detail}"))
    return _wait_for_devices(context, tuple(cycled))


def _wait_for_devices(context: RunContext, names: tuple[str, ...]) -> tuple[str, ...]:
    if not names:
        return ()
    extra = (*context.options.ansible_args, *OUT_OF_POOL)
    request = PlaybookRequest("booted.yml", context.request.inventory, names, forks=len(names), timeout_s=_WAIT_S, extra_args=extra)
    outcome = context.playbook(request, Phase.REBOOT)
    for name in names:
        if outcome.hosts[name].status is not HostStatus.OK:
            context.quarantine(name, Phase.REBOOT, failed(context, outcome, name))
    return tuple(n for n in names if n in context.active)
