"""Reboot: the nodes whose roles asked for it; each must come back with a new boot id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.admission import Reason, ReasonKind
from clusterctl.exit_codes import ExitCode
from clusterctl.outcome import HostStatus
from clusterctl.provisioning.apply import failed
from clusterctl.provisioning.model import Step, StepStarted
from clusterctl.runner import PlaybookRequest

if TYPE_CHECKING:
    from clusterctl.provisioning.work import Work


def reboot(work: Work) -> None:
    """Reboot whom a role asked to; without permission such a node is kept out, for it does not run what is declared."""
    wanted = {n: work.applied[n].reboot_required for n in work.alive if n in work.applied and work.applied[n].reboot_required}
    if not wanted:
        return
    if not work.options.reboot:
        for name, roles in wanted.items():
            text = f"needs a reboot ({', '.join(roles)}), which --no-reboot forbids"
            hint = f"reboot it, or run `clusterctl provision {name}` without --no-reboot"
            work.quarantine(name, Step.REBOOT, (Reason(ReasonKind.CHECKS_MISSING, text, hint=hint),), ExitCode.CHANGES_PENDING)
        return
    names = tuple(wanted)
    work.tell(StepStarted(Step.REBOOT, names, ", ".join(sorted({r for roles in wanted.values() for r in roles}))))
    request = PlaybookRequest(
        "reboot.yml", work.inventory, names, forks=max(work.options.forks, len(names)), extra_args=work.options.ansible_args
    )
    outcome = work.playbook(request, Step.REBOOT)
    for name in names:
        if outcome.hosts[name].status is not HostStatus.OK:
            work.quarantine(name, Step.REBOOT, failed(work, outcome, name))
