"""The whole way, as a straight line. Nodes that fail drop out and the others go on."""

from __future__ import annotations

import time
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from clusterctl.adapters.pools.headroom import refusal, require_headroom
from clusterctl.core.lifecycle import IN_PROGRESS
from clusterctl.model.errors import InterruptedRunError, PoolError
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.provision import Note, Phase, PlannedAction, ProvisionResult
from clusterctl.model.records import RunStatus
from clusterctl.model.state import State
from clusterctl.workflows.provision.admit import admit_nodes
from clusterctl.workflows.provision.apply import apply, un_admit
from clusterctl.workflows.provision.burn_in import burn_in
from clusterctl.workflows.provision.check import check_nodes
from clusterctl.workflows.provision.reboot import reboot
from clusterctl.workflows.provision.verify import verify_nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from clusterctl.model.gate_result import Baseline
    from clusterctl.model.provision import Plan
    from clusterctl.workflows.provision.context import RunContext

_DOING = "provisioning"
_STEPS = {Phase.APPLY: apply, Phase.REBOOT: reboot, Phase.VERIFY: verify_nodes, Phase.BURN_IN: burn_in}


def provision(
    context: RunContext, confirm: Callable[[Plan], bool], baselines: Mapping[str, tuple[Baseline, ...]], versions: Mapping[str, str]
) -> ProvisionResult:
    """Take the nodes of `work` through all steps. `confirm` sees the plan before anything is touched; it is not asked if nothing is.

    Raises:
        PoolError: it would take too much of the pool out at once, and `force` is not given; nothing was touched.
        KeyboardInterrupt: after the state of all nodes was recorded.
    """
    store = context.services.store
    plan = check_nodes(context)
    _require_headroom(context, plan)
    leave(context, plan)
    if plan.to_provision and not confirm(plan):
        store.finish_run(context.run_id, RunStatus.DONE, ExitCode.CHANGES_PENDING, {"declined": True})
        return ProvisionResult(context.run_id, (), time.monotonic() - context.started, declined=True)
    _require_headroom(context, plan)  # again: others may have drained while somebody thought about the plan
    context.active = [p.node for p in plan.to_provision]
    step = Phase.APPLY
    try:
        un_admit(context)
        for current, do in (_STEPS | {Phase.ADMIT: partial(admit_nodes, baselines=baselines, versions=versions)}).items():
            if context.active:
                step = current
                _hold(context)
                do(context)
    except BaseException as e:
        _record_stop(context, step, e)
        raise
    return finish(context)


def leave(context: RunContext, plan: Plan) -> None:
    """End the way of the nodes that are not worked on: keep what they said, and make sure that an admitted one is in the pool."""
    members = context.services.pool.members()
    for p in plan.nodes:
        if p.action is PlannedAction.WORK:
            continue
        context.services.store.save_findings(context.run_id, context.findings[p.node])
        reason = p.reasons[0].text if p.reasons else ""
        code = p.exit_code
        if p.state is State.ADMITTED and p.action is PlannedAction.LEAVE and p.node not in members:
            try:
                context.services.pool.admit(p.node, f"admitted before; seen as declared in run {context.run_id}")
            except PoolError as e:
                reason, code = str(e), ExitCode.CHANGES_PENDING
        context.end(p.node, p.state, code, reason, p.reasons)


def finish(context: RunContext) -> ProvisionResult:
    """The result, and the run's row."""
    order = {name: i for i, name in enumerate(context.nodes)}
    nodes = tuple(sorted(context.results.values(), key=lambda r: order[r.node]))
    counts = Counter(n.state.value for n in nodes)
    simulated = any(r.simulated for r in context.gate_results) or any(p.simulated for p in context.plans.values())
    result = ProvisionResult(context.run_id, nodes, time.monotonic() - context.started, simulated=simulated, counts=dict(counts))
    summary = {"counts": dict(counts), "changed": sum(n.changed for n in nodes), "duration_s": round(result.duration_s, 1)}
    context.rundir.write_json(
        "result.json", {"exit_code": int(result.exit_code), **summary, "nodes": {n.node: n.state.value for n in nodes}}
    )
    context.services.store.finish_run(context.run_id, RunStatus.DONE, int(result.exit_code), summary)
    return result


def warn(context: RunContext, plan: Plan) -> None:
    """Tell where `provision` would refuse this plan."""
    why = "" if context.options.force else refusal(context.services.pool, [p.node for p in plan.to_provision], doing=_DOING)
    if why:
        context.notify(Note(f"would be refused without --force: {why}"))


def _require_headroom(context: RunContext, plan: Plan) -> None:
    if plan.to_provision and not context.options.force:
        hint = "provision fewer at a time (--limit), wait for those that are out, or say --force if it is meant"
        require_headroom(context.services.pool, [p.node for p in plan.to_provision], doing=_DOING, hint=hint)


def _hold(context: RunContext) -> None:
    if context.lease_lost():
        raise InterruptedRunError(
            detail="the lease on these nodes expired and somebody else took them",
            hint=f"`clusterctl status` says who; nothing of run {context.run_id} was admitted since",
        )


def _record_stop(context: RunContext, step: Phase, error: BaseException) -> None:
    """Leave no node looking finished: those on their way are `provisioning` again, which also voids what was measured."""
    why = "interrupted" if isinstance(error, KeyboardInterrupt) else f"stopped by {type(error).__name__}"
    store = context.services.store
    for name in tuple(context.active):
        record = store.node(name)
        if record is not None and record.state in IN_PROGRESS:
            context.move(name, State.PROVISIONING, step, f"{why} during {step.value}; run {context.run_id}")
    context.notify(Note(f"{why} during {step.value}: {len(context.active)} nodes are left in the middle, out of the pool"))
