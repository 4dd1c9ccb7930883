"""Apply: un-admit the nodes, then run their roles; nodes with the same roles share a playbook run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.adapters.ansible.runner import PlaybookRequest
from clusterctl.adapters.pools.read_back import take_out
from clusterctl.adapters.pools.vacating import busy_text, vacate
from clusterctl.core.parsers.ssh_messages import read_ssh_failure
from clusterctl.model.errors import PoolError, PoolUnreachableError
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.findings import status_hint
from clusterctl.model.playbook_result import HostOutcome, HostStatus, PlaybookStatus
from clusterctl.model.provision import Note, Phase, PhaseStarted
from clusterctl.model.state import State
from clusterctl.model.verdict import Reason, ReasonKind
from clusterctl.workflows.provision.apply_on_nodes import OUT_OF_POOL_VARIABLE
from clusterctl.workflows.provision.run_roles import run_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from clusterctl.model.plan import NodePlan
    from clusterctl.model.playbook_result import PlaybookResult
    from clusterctl.workflows.provision.context import RunContext
    from clusterctl.workflows.provision.knowledge import Knowledge

OUT_OF_POOL = ("-e", OUT_OF_POOL_VARIABLE)


def un_admit(context: RunContext, plans: Mapping[str, NodePlan], taken_out: Callable[[], None]) -> None:
    """Take every node out of the pool, call `taken_out`, wait for what still runs there, and record that it is being changed, before anything touches it.

    A node that its scheduler does not take out ends as it is.

    Raises:
        PoolUnreachableError: the scheduler does not answer.
    """
    pool = context.services.pool
    for name in tuple(context.active):
        try:
            take_out(pool, name, _why(context, plans[name]))
        except PoolUnreachableError:
            raise
        except PoolError as e:  # about this node: Slurm reboots it, for example
            reason = Reason(ReasonKind.REFUSED, str(e), hint=e.hint)
            context.end(name, plans[name].state, ExitCode.CHANGES_PENDING, str(e), (reason,))
            continue
        context.services.store.end_doubt(name)
        if plans[name].state is State.ADMITTED:
            context.move(name, State.DRAINED, Phase.APPLY, _why(context, plans[name]))
    taken_out()
    for name, jobs in vacate(pool, tuple(context.active), lambda found: _report_waiting(context, found)).items():
        plan, what = plans[name], f"still in use: {jobs}"
        state = State.DRAINED if plan.state is State.ADMITTED else plan.state
        hint = "it is out of the pool and was not touched; run the same command again when they have ended"
        context.end(name, state, ExitCode.CHANGES_PENDING, what, (Reason(ReasonKind.REFUSED, what, hint=hint),))
    for name in tuple(context.active):
        context.move(name, State.PROVISIONING, Phase.APPLY, _why(context, plans[name]))


def _why(context: RunContext, plan: NodePlan) -> str:
    given = f" ({context.options.reason})" if context.options.reason else ""
    return f"provisioning: {plan.why}{given}"


def _report_waiting(context: RunContext, found: Mapping[str, str]) -> None:
    context.notify(Note(f"waiting for what still runs: {busy_text(found)}"))


def by_roles(needed: Mapping[str, tuple[str, ...]]) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Roles -> the nodes that need exactly these; `needed`: node -> roles."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for name, roles in needed.items():
        groups.setdefault(roles, []).append(name)
    return {roles: tuple(names) for roles, names in groups.items()}


def apply(context: RunContext, known: Knowledge) -> Knowledge:
    """Run the roles that have something to do; a node on which one fails is quarantined."""
    plans, left = known.plans, known.changes.left
    for roles, names in by_roles({n: left.get(n, plans[n].roles) for n in context.active}).items():
        if roles:
            known = run_roles(context, known, roles, names, Phase.APPLY)
    untouched = [n for n in context.active if n not in known.changes.outcomes]
    for name in tuple(context.active):
        context.move(name, State.PROVISIONED, Phase.APPLY)
    return known.changed(known.changes.merge(HostOutcome(n, HostStatus.OK) for n in untouched))


def run_roles(context: RunContext, known: Knowledge, roles: tuple[str, ...], names: tuple[str, ...], step: Phase) -> Knowledge:
    """Run these roles on these nodes, which are out of the pool; a node on which one fails is quarantined."""
    context.notify(PhaseStarted(step, names, ", ".join(roles), roles))
    options = context.options
    request = PlaybookRequest(
        "provision.yml",
        context.request.inventory,
        names,
        tags=roles,
        diff=options.diff,
        forks=options.forks,
        extra_args=(*options.ansible_args, *OUT_OF_POOL),
        verbosity=options.verbosity,
    )
    outcome = run_parts(context, known.findings, request, step)
    for name in (n for n in names if outcome.hosts[n].status is not HostStatus.OK):
        context.quarantine(name, step, failed(context, outcome.playbooks[name], name))
    return known.changed(known.changes.merge(outcome.hosts[n] for n in names))


def failed(context: RunContext, run: PlaybookResult, name: str) -> tuple[Reason, ...]:
    """Why a playbook failed on a node."""
    host, hint = run.hosts[name], f"Ansible's full output: {context.rundir.path}/ansible"
    if host.status is HostStatus.UNREACHABLE:
        status, why = read_ssh_failure(host.failures[-1].message if host.failures else "no message")
        return (Reason(ReasonKind.UNREACHABLE, f"unreachable while it was changed: {why}", hint=status_hint(status, name)),)
    if host.failures:
        last = host.failures[-1]
        where = f"role {last.role}: {last.task}" if last.role else last.task
        return (Reason(ReasonKind.ROLE_FAILED, f"{where}: {last.message}", hint=hint, item=last.role),)
    ends: Mapping[PlaybookStatus, str] = {
        PlaybookStatus.TIMED_OUT: "the playbook ran out of time",
        PlaybookStatus.CANCELLED: "the playbook was cancelled",
        PlaybookStatus.COULD_NOT_START: f"the playbook could not start: {run.detail}",
        PlaybookStatus.KILLED: "Ansible was killed on the controller, where `journalctl -k` shows whether memory ran out",
        PlaybookStatus.COMPLETED: "the playbook ended without reaching it",
    }
    return (Reason(ReasonKind.ROLE_FAILED, ends[run.status], hint=hint),)
