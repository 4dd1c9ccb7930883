"""Reboot: the nodes whose roles require it, within the reboot budget. Each must return with a new boot id, a completed boot, its GPUs and its links."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.adapters.ansible.runner import PlaybookRequest
from clusterctl.core.plan import roles_to_apply
from clusterctl.core.reboot_budget import most_turns
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.playbook_result import HostStatus
from clusterctl.model.provision import Phase, PhaseStarted, ProvisionOptions
from clusterctl.model.verdict import Reason, ReasonKind
from clusterctl.workflows.provision.apply import OUT_OF_POOL, failed, run_roles
from clusterctl.workflows.provision.power_cycle import can_be_cycled, cycle_or_give_up, give_up, may_lack_links, power_cycle
from clusterctl.workflows.provision.validate_again import validate_again

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.workflows.provision.context import RunContext
    from clusterctl.workflows.provision.knowledge import Changes, Knowledge


# A kernel that no selected role has brought is not booted in passing.
_SAME_KERNEL = ("-e", "reboot_kernel=false")
_MOST = 3
_WHAT_FAILS = ProvisionOptions()
# a server with much memory takes 20 minutes to start, its fabric some more
_TURN_S = 3600


def reboot(context: RunContext, known: Knowledge) -> Knowledge:
    """Reboot the nodes that require it; with --no-reboot they are quarantined, because they do not run what is declared.

    What a role stored is read back after the reboot, by its checks. Where one fails, or could not run, the role runs again (to write the children of
    a preset, to find what waits for a power cycle), and may require another reboot. That is a power cycle where the role found settings that the reboot did not bring, and the last one where the node has a BMC.
    """
    for number in range(_MOST):
        pending = known.changes.pending(context.active)
        if not pending:
            return known
        if not context.options.reboot:
            forbidden(context, pending)
            return known
        known = _reboot_once(context, known, pending, number)
    changes = known.changes
    for name, roles in changes.pending(context.active).items():
        if _waits(changes, name):
            give_up(context, changes, name)
            continue
        text = f"still requires a reboot after {_MOST} of them ({', '.join(roles)})"
        context.quarantine(
            name, Phase.REBOOT, (Reason(ReasonKind.ROLE_FAILED, text, hint=f"Ansible's full output: {context.rundir.path}/ansible"),)
        )
    return known


def _reboot_once(context: RunContext, known: Knowledge, pending: Mapping[str, tuple[str, ...]], number: int) -> Knowledge:
    """Reboot or power-cycle the nodes, then run the roles again that must, and whose checks do not all pass."""
    changes = known.changes.rebooting(pending)
    waiting = [n for n in pending if number and _waits(changes, n)]
    last = [n for n, roles in pending.items() if number == _MOST - 1 and n not in waiting and can_be_cycled(context, changes, n, roles)]
    cycled = (*cycle_or_give_up(context, changes, waiting), *power_cycle(context, last))
    changes = changes.cycled(cycled)
    warm = {n: roles for n, roles in pending.items() if n not in cycled and n in context.active}
    failures = reboot_nodes(context, changes, warm, _SAME_KERNEL)
    stored = {n: changes.outcomes[n].apply_again for n in pending if n in context.active and changes.outcomes[n].apply_again}
    known, again = read_back(context, known.changed(changes), stored)
    known = known.settled(n for n in pending if n in context.active and n not in again)
    for roles in dict.fromkeys(again.values()):
        known = run_roles(context, known, roles, tuple(n for n in again if again[n] == roles), Phase.REBOOT)
    for name in (n for n in failures if n in context.active and not _waits(known.changes, n)):
        context.quarantine(name, Phase.REBOOT, failures[name])
    return known


def read_back(context: RunContext, known: Knowledge, stored: Mapping[str, tuple[str, ...]]) -> tuple[Knowledge, dict[str, tuple[str, ...]]]:
    """Validate the nodes on which roles stored something, and return those of these roles that still have something to do; `stored`: node -> roles."""
    if not stored:
        return known, {}
    context.notify(PhaseStarted(Phase.REBOOT, tuple(stored), "reading back what was stored"))
    known = known.found(validate_again(context, [context.candidates[n].node for n in stored]))
    again = {}
    for name, roles in stored.items():
        left = roles_to_apply(context.candidates[name].node, known.findings[name], _WHAT_FAILS, context.services.traits)
        if any(r in left for r in roles):
            again[name] = tuple(r for r in roles if r in left)
    return known, again


def _waits(changes: Changes, name: str) -> bool:
    """Whether the last run of its roles found settings that a reset has yet to bring."""
    return bool(changes.outcomes[name].waiting and changes.outcomes[name].reboot_required)


def forbidden(context: RunContext, pending: Mapping[str, tuple[str, ...]]) -> None:
    """Quarantine the nodes that require a reboot: they do not run what is declared."""
    for name, roles in pending.items():
        text = f"needs a reboot ({', '.join(roles)}), which --no-reboot forbids"
        hint = f"reboot it, or run `clusterctl provision {name}` without --no-reboot"
        context.quarantine(name, Phase.REBOOT, (Reason(ReasonKind.CHECKS_MISSING, text, hint=hint),), ExitCode.CHANGES_PENDING)


def reboot_nodes(
    context: RunContext, changes: Changes, pending: Mapping[str, tuple[str, ...]], extra: tuple[str, ...] = ()
) -> dict[str, tuple[Reason, ...]]:
    """Reboot nodes; `pending`: node -> roles that require it, `extra`: more arguments for Ansible.

    Returns why it failed on nodes whose links may be down for want of a power cycle; the others that fail are quarantined.
    """
    names = tuple(pending)
    if not names:
        return {}
    context.notify(PhaseStarted(Phase.REBOOT, names, ", ".join(sorted({r for roles in pending.values() for r in roles}))))
    request = PlaybookRequest(
        "reboot.yml",
        context.request.inventory,
        names,
        forks=max(context.options.forks, len(names)),
        timeout_s=_TURN_S * most_turns(context.reboot_budget, len(names)),
        extra_args=("-e", f"reboot_budget={context.reboot_budget}", *extra, *context.options.ansible_args, *OUT_OF_POOL),
    )
    outcome = context.playbook(request, Phase.REBOOT)
    failures = {}
    for name in (n for n in names if outcome.hosts[n].status is not HostStatus.OK):
        reasons = failed(context, outcome, name)
        if outcome.hosts[name].status is HostStatus.FAILED and may_lack_links(context, changes, name):
            failures[name] = reasons
        else:
            context.quarantine(name, Phase.REBOOT, reasons)
    return failures
