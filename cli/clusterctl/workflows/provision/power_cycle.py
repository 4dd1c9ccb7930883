"""Power cycle: nodes on which a warm reboot did not bring a stored setting, by their BMCs, within the reboot budget.

A stored setting is done when it was read back in force. An adapter keeps power through a warm reboot, so NVIDIA requires a power cycle where the
value in force still differs from that of the next boot (mstflint issue 1191).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.adapters.ansible.runner import PlaybookRequest
from clusterctl.core import cold_settings
from clusterctl.model.findings import NodeStatus
from clusterctl.model.playbook_result import HostStatus
from clusterctl.model.power import PowerOutcome
from clusterctl.model.provision import Note, Phase, PhaseStarted
from clusterctl.model.running_text import first_of
from clusterctl.model.verdict import Reason, ReasonKind
from clusterctl.workflows.provision.apply import OUT_OF_POOL, failed

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.node import Node
    from clusterctl.workflows.provision.context import RunContext
    from clusterctl.workflows.provision.knowledge import Changes, Knowledge

_WAIT_S = 1800


def bring_cold_settings(context: RunContext, known: Knowledge) -> list[Node]:
    """Power-cycle the rebooted nodes that lack a stored setting of a role that required the reboot. Returns them, to be validated again."""
    waiting = []
    for name in (n for n in context.active if n not in known.changes.power_cycled):
        found = known.findings.get(name)
        roles = known.changes.rebooted.get(name, ())
        checks = _awaiting(context, found, roles) if found and found.status is NodeStatus.OK else ()
        if checks:
            context.notify(Note(f"{name}: the reboot did not bring {first_of(checks, 1)}"))
            waiting.append(name)
    cycled = power_cycle(context, waiting)
    return [n for n in context.active_nodes() if n.name in cycled]


def _awaiting(context: RunContext, found: NodeFindings, roles: Collection[str]) -> tuple[str, ...]:
    return cold_settings.awaiting_power_cycle(found.findings, roles, context.services.traits)


def can_be_cycled(context: RunContext, changes: Changes, name: str, roles: Collection[str]) -> bool:
    """Whether a power cycle may bring what these roles wait for, and the node has a BMC that can do it."""
    waits = cold_settings.may_wait(roles, context.services.traits)
    return bool(waits and context.candidates[name].node.bmc_url and name not in changes.power_cycled)


def may_lack_links(context: RunContext, changes: Changes, name: str) -> bool:
    """Whether the links of a node may be down only because an adapter did not take its link type: its role reads that back, and a power cycle cures it."""
    again = changes.outcomes[name].apply_again
    return cold_settings.links_may_wait(again, context.services.traits) and can_be_cycled(context, changes, name, again)


def cycle_or_give_up(context: RunContext, changes: Changes, names: Sequence[str]) -> tuple[str, ...]:
    """Power-cycle nodes on which stored settings are still not in force after a reboot; one that cannot have that, or had it, is quarantined."""
    able = [n for n in names if can_be_cycled(context, changes, n, changes.outcomes[n].reboot_required)]
    for name in able:
        context.notify(Note(f"{name}: the reboot did not bring {first_of(changes.outcomes[name].waiting, 1)}"))
    cycled = power_cycle(context, able)
    for name in (n for n in names if n not in cycled and n in context.active):
        give_up(context, changes, name)
    return cycled


def give_up(context: RunContext, changes: Changes, name: str) -> None:
    """Quarantine a node on which stored settings are not in force."""
    if name in changes.power_cycled:
        after, take = "a power cycle", f"take its standby power, too (`clusterctl power ac-cycle {name}`, then provision it again)"
        hint = f"{take}, or declare the value that the device keeps"
    elif context.candidates[name].node.bmc_url:
        after, hint = "a reboot", f"`clusterctl bmc {name}` shows whether its BMC answers; then run `clusterctl provision {name}` again"
    else:
        after, hint = "a reboot", f"it has no bmc_url: power-cycle it manually, then run `clusterctl provision {name}` again"
    text = f"stored, but not in force after {after}: {first_of(changes.outcomes[name].waiting, 1)}"
    context.quarantine(name, Phase.REBOOT, (Reason(ReasonKind.ROLE_FAILED, text, hint=hint),))


def power_cycle(context: RunContext, names: Sequence[str]) -> tuple[str, ...]:
    """Power-cycle active nodes, which are out of the pool. Returns those that came back with all devices.

    One that does not come back is quarantined. One whose BMC refuses stays as it is.
    """
    if not names:
        return ()
    context.notify(PhaseStarted(Phase.REBOOT, tuple(names), "power cycle"))
    cycled = []
    for report in context.services.power_cycle([context.candidates[n].node for n in _directed_to_disk(context, names)]):
        if report.outcome is PowerOutcome.DONE:
            cycled.append(report.node)
        elif report.down:
            text, hint = f"power cycle: {report.detail}", f"`clusterctl bmc {report.node}` shows its log"
            context.quarantine(report.node, Phase.REBOOT, (Reason(ReasonKind.UNREACHABLE, text, hint=hint),))
        else:
            context.notify(Note(f"{report.node}: not power-cycled: {report.detail}"))
    return _wait_for_devices(context, tuple(cycled))


def _directed_to_disk(context: RunContext, names: Sequence[str]) -> list[str]:
    """The nodes whose next boot starts from where it is declared to; the others are left as they are, because an installer may answer from the network."""
    directed = tuple(n for n in names if _boots_from_disk(context.candidates[n].node))
    if not directed:
        return list(names)
    extra = (*context.options.ansible_args, *OUT_OF_POOL)
    request = PlaybookRequest(
        "disk_once.yml", context.request.inventory, directed, forks=len(directed), timeout_s=_WAIT_S, extra_args=extra
    )
    outcome = context.playbook(request, Phase.REBOOT)
    refused = [n for n in directed if outcome.hosts[n].status is not HostStatus.OK]
    for name in refused:
        context.notify(Note(f"{name}: not power-cycled: {'; '.join(r.text for r in failed(context, outcome, name))}"))
    return [n for n in names if n not in refused]


def _boots_from_disk(node: Node) -> bool:
    """Whether a role declares a boot order (`<role>_boot_order`) that starts with the disk."""
    orders = [variables.get(f"{role}_boot_order") or () for role, variables in node.spec.roles.items()]
    return any(list(order[:1]) == ["disk"] for order in orders)


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
