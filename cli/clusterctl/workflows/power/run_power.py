"""`clusterctl power`: refuses nodes that may run jobs, then switches the others in a recorded run that holds them."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from clusterctl.adapters.bmc.host_power import BmcLimits, HostPower
from clusterctl.adapters.inventory.bmcs import load_bmcs
from clusterctl.adapters.pools.loader import load_pool
from clusterctl.adapters.pools.vacating import busy, busy_text
from clusterctl.adapters.ssh.boot import read_boot
from clusterctl.adapters.ssh.ssh import SshClient
from clusterctl.core.lifecycle import ABSENT, next_action
from clusterctl.model.errors import ActionRefusedError, JobsRunError, PoolError
from clusterctl.model.exit_codes import worst
from clusterctl.model.power import EXIT_CODES, PowerAction
from clusterctl.model.state import State
from clusterctl.workflows.lease import leases_on
from clusterctl.workflows.power.switch import NodeSwitch, PowerLimits
from clusterctl.workflows.power.turns import switch_racks
from clusterctl.workflows.run import RunStart, recorded_run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from clusterctl.adapters.bmc.access import BmcAccess
    from clusterctl.adapters.config import Config
    from clusterctl.adapters.store.store import Store
    from clusterctl.model.node import Node
    from clusterctl.model.power import PowerReport

# As playbooks/reboot.yml: in any other state a node may run jobs, of the pool or of whoever had it before.
SWITCHABLE = frozenset({State.DRAINED, State.MAINTENANCE, State.QUARANTINED})
_PARTICIPLES = {
    PowerAction.ON: "switched on",
    PowerAction.OFF: "switched off",
    PowerAction.CYCLE: "power-cycled",
    PowerAction.AC_CYCLE: "AC-power-cycled",
    PowerAction.REBOOT: "rebooted",
}
_SSH_S = 20.0


def run_power(
    config: Config,
    store: Store,
    nodes: Sequence[Node],
    action: PowerAction,
    limits: PowerLimits,
    *,
    target: str,
    vault_ids: Sequence[str] = (),
    ended: Callable[[PowerReport], None],
) -> tuple[str, tuple[PowerReport, ...]]:
    """The run's id, and how it ended for each node.

    Raises:
        ActionRefusedError: one of them is neither drained, in maintenance nor quarantined; none was touched.
        JobsRunError: jobs still run on one of them, or the pool does not report whether any run, and `limits` do not force it; none was touched.
        LeaseHeldError: a run holds one of them; none was touched.
        ConfigError: the inventory cannot be used.
    """
    store.register_new(nodes)
    _refuse(store, nodes, action)
    names = [n.name for n in nodes]
    if not (limits.force or action is PowerAction.ON):
        _refuse_busy(config, store, names, action)
    accesses = load_bmcs(config.inventory, names, vault_ids=vault_ids)
    start = RunStart("power", f"{action.value} {target}", config.operator, config.state_dir, names, leased=leases_on(nodes))
    with recorded_run(store, start) as run:
        found = switch_nodes(nodes, accesses, action, limits, ended)
        for report in found:
            store.save_run_node(run.rundir.id, report.node, phase="done", outcome=report.outcome.value, detail=report.detail)
        run.code = worst([EXIT_CODES[r.outcome] for r in found])
        run.summary = {"action": action.value, "outcomes": {r.node: r.outcome.value for r in found}}
        return run.rundir.id, found


def switch_nodes(
    nodes: Sequence[Node],
    accesses: Mapping[str, BmcAccess],
    action: PowerAction,
    limits: PowerLimits,
    ended: Callable[[PowerReport], None],
) -> tuple[PowerReport, ...]:
    """Switch nodes that are out of the pool and held by the caller; in the order of `nodes`."""
    return asyncio.run(_switch(nodes, accesses, action, limits, ended))


async def _switch(
    nodes: Sequence[Node],
    accesses: Mapping[str, BmcAccess],
    action: PowerAction,
    limits: PowerLimits,
    ended: Callable[[PowerReport], None],
) -> tuple[PowerReport, ...]:
    racks: dict[str, list[NodeSwitch]] = {}
    async with SshClient() as client:
        for node in nodes:
            machine = HostPower(accesses[node.name], BmcLimits.of(node.spec.roles))
            boot = partial(read_boot, client, node.connection, _SSH_S)
            racks.setdefault(node.place.rack, []).append(NodeSwitch(node.name, machine, boot, limits))
        found = await switch_racks(racks, action, limits.budget, ended)
    return tuple(found[n.name] for n in nodes)


def _refuse(store: Store, nodes: Sequence[Node], action: PowerAction) -> None:
    for record in store.nodes([n.name for n in nodes]):
        if record.state in SWITCHABLE:
            continue
        drain = f"only drained nodes are switched: `clusterctl drain {record.name} --reason WHY` first"
        hint = next_action(record.name, record.state) if record.state in ABSENT else drain
        raise ActionRefusedError(node=record.name, current=record.state.value, wanted=_PARTICIPLES[action], hint=hint)


def _refuse_busy(config: Config, store: Store, names: Sequence[str], action: PowerAction) -> None:
    """Jobs may outlast the drain of their node."""
    verb = _PARTICIPLES[action]
    try:
        found = busy(load_pool(config.pool, store), names)
    except PoolError as e:
        what = f"nodes are not {verb} while it is not known what runs there: {e}"
        raise JobsRunError(detail=what, hint=f"{e.hint}; --force does not query the pool") from e
    if found:
        hint = "wait until they have ended (`clusterctl drain` has --wait), or end them; --force kills them"
        raise JobsRunError(detail=f"nodes on which jobs still run are not {verb}: {busy_text(found)}", hint=hint)
