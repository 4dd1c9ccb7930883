"""The nodes that booted since they were verified: found without a look at the others, and returned where their scheduler took them out for that."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from clusterctl.adapters import clock
from clusterctl.adapters.pools.boots import ReportingBoots, ReturningBooted
from clusterctl.adapters.pools.loader import load_pool
from clusterctl.adapters.pools.read_back import is_member
from clusterctl.adapters.ssh.boot import read_boot
from clusterctl.adapters.ssh.fanout import fan_out
from clusterctl.adapters.ssh.remote_result import TransportError
from clusterctl.adapters.ssh.ssh import SshClient
from clusterctl.adapters.store import Store
from clusterctl.core import timestamps
from clusterctl.core.booted import may_return, nodes_to_verify
from clusterctl.core.lemons.demands import boots_reason
from clusterctl.model.boots import RETURNED, ReportedBoot
from clusterctl.model.errors import LeaseHeldError, PoolError, UsageProblemError
from clusterctl.model.exit_codes import ExitCode, worst
from clusterctl.model.node import SSH_KINDS
from clusterctl.model.running_text import counted
from clusterctl.model.state import State
from clusterctl.workflows.lease import lease_for
from clusterctl.workflows.lemons import booting_too_often

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from clusterctl.adapters.config import Config
    from clusterctl.adapters.pools.base import Pool
    from clusterctl.model.drift import DriftReport
    from clusterctl.model.node import Node
    from clusterctl.model.verdict import Reason
    from clusterctl.workflows.drift.check_drift import DriftOptions
    from clusterctl.workflows.run import Run

_SSH_S = 20.0
_AT_A_TIME = 64
_RETURNED = "booted by itself, and as declared in that boot"
_LEFT = "its scheduler took it out because it booted by itself; it stays out, because it is not as declared"
_LOST = "its scheduler took it out because it booted by itself; it stays out, because it was not verified in that boot"


@dataclass(frozen=True, slots=True)
class Returned:
    """What became of the nodes that their scheduler had taken out, action by action as the document lists them.

    Attributes:
        too_often: the nodes that were not returned because they boot by themselves too often -> the reason.
    """

    actions: tuple[dict[str, str], ...] = ()
    code: ExitCode = ExitCode.OK
    too_often: Mapping[str, Reason] = field(default_factory=dict)


def select_booted(
    config: Config, nodes: Sequence[Node], options: DriftOptions, notify: Callable[[str], None], *, resume: bool
) -> tuple[tuple[Node, ...], DriftOptions]:
    """The nodes that booted since they were verified, and the options with those that are to be returned; all nodes, unless the options select.

    Raises:
        UsageProblemError: `resume` without the selection.
        PoolError: the scheduler does not report the boots.
        StoreError: the database cannot be used.
    """
    if not options.booted:
        if resume:
            raise UsageProblemError(detail="--resume returns only nodes that booted", hint="add --booted")
        return tuple(nodes), options
    with Store.open(config.store_url) as store:
        pool = load_pool(config.pool, store)
        names = {n.name for n in nodes}
        reported = pool.boots() if isinstance(pool, ReportingBoots) else _boots_over_ssh(pool, nodes, notify)
        reported = {name: boot for name, boot in reported.items() if name in names}
        states = {r.name: r.state for r in store.nodes(names)}
        chosen = nodes_to_verify(reported, store.verified_boots(reported), states, resume=resume)
    out = frozenset(n for n in chosen if reported[n].taken_out) if resume else frozenset()
    return tuple(n for n in nodes if n.name in chosen), replace(options, to_return=out)


def _boots_over_ssh(pool: Pool, nodes: Sequence[Node], notify: Callable[[str], None]) -> dict[str, ReportedBoot]:
    members = pool.members()
    queried = [n for n in nodes if n.name in members]
    notify(f"the pool reports no boots: {counted(len(queried), 'node')} queried over SSH")
    return dict(zip([n.name for n in queried], asyncio.run(_read_boots(queried)), strict=True))


async def _read_boots(nodes: Sequence[Node]) -> list[ReportedBoot]:
    """A node that does not report its boot may be in another one: neither time nor id, so that it is verified, and the result shows why."""
    async with SshClient() as client:

        async def read(node: Node) -> ReportedBoot:
            if node.connection.kind not in SSH_KINDS:
                return ReportedBoot()
            try:
                boot = await read_boot(client, node.connection, _SSH_S)
            except TransportError:
                return ReportedBoot()
            return ReportedBoot(boot.boot_id, timestamps.after(clock.now(), -boot.uptime_s))

        return await fan_out(nodes, read, _AT_A_TIME)


def return_booted(run: Run, config: Config, report: DriftReport, options: DriftOptions, drained: Sequence[str]) -> Returned:
    """Return the nodes of `to_return` that this run verified and found as declared. The record has them admitted all along; each is read back."""
    bad, lost = {d.node for d in report.deviations}, {x.node for x in report.lost}
    out = [n for n in report.nodes if n in options.to_return and n not in drained]
    if not out:
        return Returned()
    good = [n for n in out if n not in bad | lost]
    left = [{"node": n, "action": "left", "detail": _LOST if n in lost else _LEFT} for n in out if n not in good]
    try:
        pool = load_pool(config.pool, run.store)
        reported = pool.boots() if isinstance(pool, ReportingBoots) else {}
    except PoolError as e:
        return Returned((*left, *({"node": n, "action": "return refused", "detail": str(e)} for n in good)), e.exit_code)
    states: Mapping[str, State] = {r.name: r.state for r in run.store.nodes(good)}
    allowed = may_return(reported, run.store.verified_boots(good), states, good)
    left += [{"node": n, "action": "left", "detail": _LOST} for n in good if n not in allowed]
    lemons = booting_too_often(run.store, config.lemon_limits, allowed)
    ended = [_return_one(run, pool, n, config.operator) for n in allowed if n not in lemons]
    too_often = {name: boots_reason(record, name) for name, record in lemons.items()}
    code = worst([ExitCode.CHANGES_PENDING if too_often else ExitCode.OK, *(code for _, code in ended)])
    return Returned((*left, *(action for action, _ in ended)), code, too_often)


def _return_one(run: Run, pool: Pool, name: str, operator: str) -> tuple[dict[str, str], ExitCode]:
    try:
        with lease_for(run.store, [name], verb="drift", holder=operator):
            record = run.store.node(name)
            if record is None or record.state is not State.ADMITTED or not isinstance(pool, ReturningBooted):
                return {"node": name, "action": "left", "detail": "it is not admitted any more"}, ExitCode.OK
            pool.return_booted(name)
            is_in = is_member(pool, name)
    except (PoolError, LeaseHeldError) as e:
        return {"node": name, "action": "return refused", "detail": str(e)}, e.exit_code
    if not is_in:
        return {"node": name, "action": "return refused", "detail": "the pool does not show it as a member"}, PoolError.exit_code
    run.store.save_run_node(run.rundir.id, name, phase="done", outcome=RETURNED, detail=_RETURNED)
    return {"node": name, "action": "returned", "detail": _RETURNED}, ExitCode.OK
