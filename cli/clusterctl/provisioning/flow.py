"""The whole way, as a straight line. Nodes that fail drop out and the others go on."""

from __future__ import annotations

import time
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from clusterctl.errors import InterruptedRunError, PoolError
from clusterctl.exit_codes import ExitCode
from clusterctl.lifecycle import IN_WORK, State
from clusterctl.pool.breaker import demand_room, refusal
from clusterctl.provisioning.admit import admit
from clusterctl.provisioning.apply import apply, un_admit
from clusterctl.provisioning.burn_in import burn_in
from clusterctl.provisioning.check import check
from clusterctl.provisioning.model import Action, Note, Result, Step
from clusterctl.provisioning.reboot import reboot
from clusterctl.provisioning.verify import verify
from clusterctl.store.records import RunStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from clusterctl.gates.model import Baseline
    from clusterctl.provisioning.model import Plan
    from clusterctl.provisioning.work import Work

_DOING = "provisioning"
_STEPS = {Step.APPLY: apply, Step.REBOOT: reboot, Step.VERIFY: verify, Step.BURN_IN: burn_in}


def provision(
    work: Work, confirm: Callable[[Plan], bool], baselines: Mapping[str, tuple[Baseline, ...]], versions: Mapping[str, str]
) -> Result:
    """Take the nodes of `work` through all steps. `confirm` sees the plan before anything is touched; it is not asked if nothing is.

    Raises:
        PoolError: it would take too much of the pool out at once, and `force` is not given; nothing was touched.
        KeyboardInterrupt: after the state of all nodes was recorded.
    """
    store = work.edges.store
    plan = check(work)
    _demand_room(work, plan)
    leave(work, plan)
    if plan.work and not confirm(plan):
        store.finish_run(work.run_id, RunStatus.DONE, ExitCode.CHANGES_PENDING, {"declined": True})
        return Result(work.run_id, (), time.monotonic() - work.started, declined=True)
    _demand_room(work, plan)  # again: others may have drained while somebody thought about the plan
    work.alive = [p.node for p in plan.work]
    step = Step.APPLY
    try:
        un_admit(work)
        for current, do in (_STEPS | {Step.ADMIT: partial(admit, baselines=baselines, versions=versions)}).items():
            if work.alive:
                step = current
                _hold(work)
                do(work)
    except BaseException as e:
        _record_stop(work, step, e)
        raise
    return finish(work)


def leave(work: Work, plan: Plan) -> None:
    """End the way of the nodes that are not worked on: keep what they said, and make sure that an admitted one is in the pool."""
    members = work.edges.pool.members()
    for p in plan.nodes:
        if p.action is Action.WORK:
            continue
        work.edges.store.save_findings(work.run_id, work.findings[p.node])
        reason = p.reasons[0].text if p.reasons else ""
        code = p.exit_code
        if p.state is State.ADMITTED and p.action is Action.LEAVE and p.node not in members:
            try:
                work.edges.pool.admit(p.node, f"admitted before; seen as declared in run {work.run_id}")
            except PoolError as e:
                reason, code = str(e), ExitCode.CHANGES_PENDING
        work.end(p.node, p.state, code, reason, p.reasons)


def finish(work: Work) -> Result:
    """The result, and the run's row."""
    order = {name: i for i, name in enumerate(work.nodes)}
    nodes = tuple(sorted(work.results.values(), key=lambda r: order[r.node]))
    counts = Counter(n.state.value for n in nodes)
    simulated = any(r.simulated for r in work.gate_results) or any(p.simulated for p in work.plans.values())
    result = Result(work.run_id, nodes, time.monotonic() - work.started, simulated=simulated, counts=dict(counts))
    summary = {"counts": dict(counts), "changed": sum(n.changed for n in nodes), "duration_s": round(result.duration_s, 1)}
    work.rundir.write_json("result.json", {"exit_code": int(result.exit_code), **summary, "nodes": {n.node: n.state.value for n in nodes}})
    work.edges.store.finish_run(work.run_id, RunStatus.DONE, int(result.exit_code), summary)
    return result


def warn(work: Work, plan: Plan) -> None:
    """Tell where `provision` would refuse this plan."""
    why = "" if work.options.force else refusal(work.edges.pool, [p.node for p in plan.work], doing=_DOING)
    if why:
        work.tell(Note(f"would be refused without --force: {why}"))


def _demand_room(work: Work, plan: Plan) -> None:
    if plan.work and not work.options.force:
        hint = "provision fewer at a time (--limit), wait for those that are out, or say --force if it is meant"
        demand_room(work.edges.pool, [p.node for p in plan.work], doing=_DOING, hint=hint)


def _hold(work: Work) -> None:
    if work.lease_lost():
        raise InterruptedRunError(
            detail="the lease on these nodes expired and somebody else took them",
            hint=f"`clusterctl status` says who; nothing of run {work.run_id} was admitted since",
        )


def _record_stop(work: Work, step: Step, error: BaseException) -> None:
    """Leave no node looking finished: those on their way are `provisioning` again, which also voids what was measured."""
    why = "interrupted" if isinstance(error, KeyboardInterrupt) else f"stopped by {type(error).__name__}"
    store = work.edges.store
    for name in tuple(work.alive):
        record = store.node(name)
        if record is not None and record.state in IN_WORK:
            work.move(name, State.PROVISIONING, step, f"{why} during {step.value}; run {work.run_id}")
    work.tell(Note(f"{why} during {step.value}: {len(work.alive)} nodes are left in the middle, out of the pool"))
