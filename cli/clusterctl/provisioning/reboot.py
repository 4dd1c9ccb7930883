"""Reboot: the nodes whose roles asked for it, a few of a rack at a time; each must come back with a new boot id, all that a boot starts, its GPUs and its links."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from clusterctl.admission import Reason, ReasonKind
from clusterctl.exit_codes import ExitCode
from clusterctl.outcome import HostStatus
from clusterctl.provisioning.apply import OUT_OF_POOL, failed, run_roles
from clusterctl.provisioning.model import Step, StepStarted
from clusterctl.runner import PlaybookRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.provisioning.work import Work


_MOST = 3
# a server with much memory takes 20 minutes to start, its fabric some more
_TURN_S = 3600


def reboot(work: Work) -> None:
    """Reboot whom a role asked to; without permission such a node is kept out, for it does not run what is declared.

    A role that must run once more after it (to read BIOS settings back, to write the children of a preset) may ask for another one.
    """
    for _ in range(_MOST):
        wanted = _wanted(work)
        if not wanted:
            return
        if not work.options.reboot:
            _forbidden(work, wanted)
            return
        _reboot(work, wanted)
        again = {n: work.applied[n].apply_again for n in wanted if n in work.alive and work.applied[n].apply_again}
        for name in (n for n in wanted if n in work.alive and n not in again):
            work.applied[name] = replace(work.applied[name], reboot_required=())
        for roles in dict.fromkeys(again.values()):
            run_roles(work, roles, tuple(n for n in again if again[n] == roles), Step.REBOOT)
    for name, roles in _wanted(work).items():
        text = f"still asks for a reboot after {_MOST} of them ({', '.join(roles)})"
        work.quarantine(
            name, Step.REBOOT, (Reason(ReasonKind.ROLE_FAILED, text, hint=f"Ansible's whole output: {work.rundir.path}/ansible"),)
        )


def most_turns(budget: str, nodes: int) -> int:
    """How many nodes after each other a budget means at most, for `nodes` that may all be of one rack."""
    share = budget.endswith("%")
    at_once = max(1, nodes * int(budget.removesuffix("%")) // 100) if share else int(budget)
    return max(1, math.ceil(nodes / at_once))


def _wanted(work: Work) -> dict[str, tuple[str, ...]]:
    return {n: work.applied[n].reboot_required for n in work.alive if n in work.applied and work.applied[n].reboot_required}


def _forbidden(work: Work, wanted: Mapping[str, tuple[str, ...]]) -> None:
    for name, roles in wanted.items():
        text = f"needs a reboot ({', '.join(roles)}), which --no-reboot forbids"
        hint = f"reboot it, or run `clusterctl provision {name}` without --no-reboot"
        work.quarantine(name, Step.REBOOT, (Reason(ReasonKind.CHECKS_MISSING, text, hint=hint),), ExitCode.CHANGES_PENDING)


def _reboot(work: Work, wanted: Mapping[str, tuple[str, ...]]) -> None:
    names = tuple(wanted)
    work.tell(StepStarted(Step.REBOOT, names, ", ".join(sorted({r for roles in wanted.values() for r in roles}))))
    request = PlaybookRequest(
        "reboot.yml",
        work.inventory,
        names,
        forks=max(work.options.forks, len(names)),
        timeout_s=_TURN_S * most_turns(work.reboot_budget, len(names)),
        extra_args=("-e", f"reboot_budget={work.reboot_budget}", *work.options.ansible_args, *OUT_OF_POOL),
    )
    outcome = work.playbook(request, Step.REBOOT)
    for name in names:
        if outcome.hosts[name].status is not HostStatus.OK:
            work.quarantine(name, Step.REBOOT, failed(work, outcome, name))
