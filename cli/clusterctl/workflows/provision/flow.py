"""The steps of `provision` in their order. A node that fails drops out; the others continue."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from clusterctl.core.lifecycle import IN_PROGRESS
from clusterctl.model.errors import InterruptedRunError, UsageProblemError
from clusterctl.model.plan import PlannedAction
from clusterctl.model.provision import Note, Phase, ProvisionResult
from clusterctl.model.running_text import counted
from clusterctl.model.state import State
from clusterctl.workflows.lease import pool_turn
from clusterctl.workflows.provision.admit_measured import admit_measured
from clusterctl.workflows.provision.apply import apply, un_admit
from clusterctl.workflows.provision.boot_kernel import boot_declared_kernel
from clusterctl.workflows.provision.burn_in import burn_in
from clusterctl.workflows.provision.check import check_nodes
from clusterctl.workflows.provision.decide import admit_nodes, return_to_pool
from clusterctl.workflows.provision.partners import with_admitted, with_partners
from clusterctl.workflows.provision.reboot import reboot
from clusterctl.workflows.provision.verify import verify_nodes

if TYPE_CHECKING:
    from collections.abc import Callable

    from clusterctl.model.plan import Plan
    from clusterctl.workflows.provision.context import RunContext
    from clusterctl.workflows.provision.knowledge import Knowledge

_DOING = "provisioning"
_STEPS = (
    (Phase.APPLY, boot_declared_kernel),
    (Phase.APPLY, apply),
    (Phase.REBOOT, reboot),
    (Phase.VERIFY, verify_nodes),
    (Phase.BURN_IN, burn_in),
    (Phase.ADMIT, admit_nodes),
)


def provision(context: RunContext, confirm: Callable[[Plan], bool]) -> ProvisionResult:
    """Take the nodes through all steps. `confirm` gets the plan before any node is touched; it is not called if nothing is to be done.

    Raises:
        PoolError: circuit breaker or maintenance windows forbid it, and `force` is not given; no node was touched.
        KeyboardInterrupt: after the state of all nodes was recorded.
    """
    known = with_partners(context, check_nodes(context))
    plan = known.plan
    _require_headroom(context, plan)
    missing = leave(context, known)
    if (plan.leaving_pool or plan.to_admit) and not confirm(plan):
        return ProvisionResult(context.run_id, (), context.duration_s, declined=True)
    for name in missing:
        return_to_pool(context, known.findings[name])
    with ExitStack() as turn:
        if plan.leaving_pool:
            turn.enter_context(pool_turn(context.services.store, holder=f"{context.services.admitter.operator}, run {context.run_id}"))
        _require_headroom(context, plan)  # again: others may have drained nodes before the plan was confirmed
        return _steps(context, known, turn.close)


def _steps(context: RunContext, known: Knowledge, taken_out: Callable[[], None]) -> ProvisionResult:
    """All steps of a confirmed plan; `taken_out` is called when no more nodes are taken out of the pool."""
    context.begin(known.plan.leaving_pool)
    phase = Phase.ADMIT
    try:
        known = admit_measured(context, known)
        phase = Phase.APPLY
        known = with_admitted(context, known)
        un_admit(context, known.plans, taken_out)
        quarantine_unrepairable(context, known)
        for current, step in _STEPS:
            if context.active:
                phase = current
                _require_leases(context)
                known = step(context, known)
    except BaseException as e:
        _record_stop(context, phase, e)
        raise
    return finish(context, known)


def leave(context: RunContext, known: Knowledge) -> list[str]:
    """Save the findings of the nodes that are left as they are, and end them, but for those that are admitted and missing in the pool: these are returned."""
    plan, members, missing = known.plan, context.services.pool.members(), []
    for p in plan.nodes:
        if p.node in plan.leaving_pool or p.action is PlannedAction.ADMIT:
            continue
        context.services.store.save_findings(context.run_id, known.findings[p.node])
        if p.state is State.ADMITTED and p.action is PlannedAction.LEAVE and p.node not in members:
            missing.append(p.node)
            continue
        reason = p.reasons[0].text if p.reasons else ""
        context.end(p.node, p.state, p.exit_code, reason, p.reasons)
    return missing


def quarantine_unrepairable(context: RunContext, known: Knowledge) -> None:
    """Quarantine the nodes on which a check fails that no role can repair, with the findings that show it; those that could not leave the pool have ended."""
    for p in (p for p in known.plan.to_quarantine if p.node in context.active):
        context.services.store.save_findings(context.run_id, known.findings[p.node])
        context.quarantine(p.node, Phase.CHECK, p.reasons)


def finish(context: RunContext, known: Knowledge) -> ProvisionResult:
    """The result; also written to the run directory."""
    order = {name: i for i, name in enumerate(context.candidates)}
    outcomes = known.changes.outcomes
    ended = (replace(r, changed=outcomes[r.node].changed) if r.node in outcomes else r for r in context.results.values())
    nodes = tuple(sorted(ended, key=lambda r: order[r.node]))
    counts = Counter(n.state.value for n in nodes)
    simulated = any(r.simulated for r in known.gate_results) or any(p.simulated for p in known.plan.nodes)
    result = ProvisionResult(context.run_id, nodes, context.duration_s, simulated=simulated, counts=dict(counts))
    states = {n.node: n.state.value for n in nodes}
    context.rundir.write_json("result.json", {"exit_code": int(result.exit_code), **context.summary(result), "nodes": states})
    return result


def warn(context: RunContext, plan: Plan) -> None:
    """Report where `provision` would refuse this plan."""
    why = "" if context.options.force else context.headroom.refusal(plan.leaving_pool, doing=_DOING)
    if why:
        context.notify(Note(f"would be refused without --force: {why}"))


def _require_headroom(context: RunContext, plan: Plan) -> None:
    if not context.options.force:
        hint = "provision fewer at a time (--limit), wait for those that are out, or add --force if this is intended"
        context.headroom.require(plan.leaving_pool, doing=_DOING, hint=hint)
    elif not context.options.reason and context.headroom.outside_window(plan.leaving_pool):
        raise UsageProblemError(detail="--force outside of the maintenance windows needs a reason", hint="add --reason WHY, for the record")


def _require_leases(context: RunContext) -> None:
    if context.lease_lost():
        raise InterruptedRunError(
            detail="the lease on these nodes expired and another run took it",
            hint="`clusterctl status` shows which",
        )


def _record_stop(context: RunContext, phase: Phase, error: BaseException) -> None:
    """Leave no node looking finished: active nodes become `provisioning` again, which also voids what was measured.

    Where only the admission is missing, they stay as they are: the next run admits them on what was measured.
    """
    why = "interrupted" if isinstance(error, KeyboardInterrupt) else f"stopped by {type(error).__name__}"
    store = context.services.store
    for name in tuple(context.active) if phase is not Phase.ADMIT else ():
        record = store.node(name)
        if record is not None and record.state in IN_PROGRESS:
            context.move(name, State.PROVISIONING, phase, f"{why} during {phase.value}; run {context.run_id}")
    admitted = store.admitted_by(context.run_id)
    done = f"; admitted before: {', '.join(admitted)}" if admitted else ""
    context.notify(Note(f"{why} during {phase.value}: {counted(len(context.active), 'node')} left unfinished, out of the pool{done}"))
