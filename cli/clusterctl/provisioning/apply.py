"""Apply: un-admit the nodes, then run their roles; nodes with the same roles to run share a playbook run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.admission import Reason, ReasonKind
from clusterctl.lifecycle import State
from clusterctl.outcome import HostOutcome, HostStatus, RunStatus
from clusterctl.provisioning.model import Step, StepStarted
from clusterctl.runner import PlaybookRequest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from clusterctl.outcome import RunOutcome
    from clusterctl.provisioning.model import NodePlan
    from clusterctl.provisioning.work import Work

# what may be written only to nodes that take no jobs (BIOS settings take effect at whatever reset comes next)
OUT_OF_POOL = ("-e", "provision_out_of_pool=true")


def un_admit(work: Work) -> None:
    """Take every node out of the pool and record that it is being changed, before anything touches it."""
    for name in tuple(work.alive):
        plan = work.plans[name]
        why = f"provisioning: {plan.why}"
        work.edges.pool.remove(name, why)
        if plan.state is State.ADMITTED:
            work.move(name, State.DRAINED, Step.APPLY, why)
        work.move(name, State.PROVISIONING, Step.APPLY, why)


def by_roles(plans: Iterable[NodePlan]) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Roles -> the nodes that need exactly these."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for plan in plans:
        groups.setdefault(plan.roles, []).append(plan.node)
    return {roles: tuple(names) for roles, names in groups.items()}


def apply(work: Work) -> None:
    """Run the roles that have something to do; a node on which one fails is quarantined."""
    for roles, names in by_roles(work.plans[n] for n in work.alive).items():
        if roles:
            run_roles(work, roles, names, Step.APPLY)
    for name in tuple(work.alive):
        work.applied.setdefault(name, HostOutcome(name, HostStatus.OK))
        work.move(name, State.PROVISIONED, Step.APPLY)


def run_roles(work: Work, roles: tuple[str, ...], names: tuple[str, ...], step: Step) -> None:
    """Run these roles on these nodes, which are out of the pool; a node on which one fails is quarantined."""
    work.tell(StepStarted(step, names, ", ".join(roles)))
    options = work.options
    request = PlaybookRequest(
        "provision.yml",
        work.inventory,
        names,
        tags=roles,
        diff=options.diff,
        forks=options.forks,
        extra_args=(*options.ansible_args, *OUT_OF_POOL),
        verbosity=options.verbosity,
    )
    outcome = work.playbook(request, step)
    for name in names:
        work.merge(outcome.hosts[name])
        if outcome.hosts[name].status is not HostStatus.OK:
            work.quarantine(name, step, failed(work, outcome, name))


def failed(work: Work, run: RunOutcome, name: str) -> tuple[Reason, ...]:
    """Why a node did not come through a playbook."""
    host, hint = run.hosts[name], f"Ansible's whole output: {work.rundir.path}/ansible"
    if host.status is HostStatus.UNREACHABLE:
        said = host.failures[-1].message if host.failures else "no message"
        return (Reason(ReasonKind.UNREACHABLE, f"unreachable while it was changed: {said}", hint="check its power, network and SSH"),)
    if host.failures:
        last = host.failures[-1]
        where = f"role {last.role}: {last.task}" if last.role else last.task
        return (Reason(ReasonKind.ROLE_FAILED, f"{where}: {last.message}", hint=hint),)
    why: Mapping[RunStatus, str] = {
        RunStatus.TIMED_OUT: "the playbook ran out of time",
        RunStatus.CANCELLED: "the playbook was cancelled",
        RunStatus.COULD_NOT_START: f"the playbook could not start: {run.detail}",
        RunStatus.COMPLETED: "the playbook ended without reaching it",
    }
    return (Reason(ReasonKind.ROLE_FAILED, why[run.status], hint=hint),)
