"""The parts of nodes by their serials: read from the nodes, recorded, compared with what was seen before."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from clusterctl.adapters.site_content import make_importable, site_content
from clusterctl.adapters.ssh.fanout import fan_out
from clusterctl.adapters.ssh.read_parts import read_parts
from clusterctl.adapters.ssh.ssh import SshClient
from clusterctl.adapters.validators.passwords import passwords
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.node import SSH_KINDS
from clusterctl.model.part import NodeParts
from clusterctl.workflows.validate import read_only_run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from clusterctl.adapters.config import Config
    from clusterctl.adapters.store.store import Store
    from clusterctl.model.node import Node
    from clusterctl.model.part import OtherMachine, Replacement

_AT_ONCE = 64
# dmidecode, nvidia-smi (13 s on eight GPUs without persistence mode) and eight adapters, one after another
_NODE_S = 150.0


def read_all_parts(nodes: Sequence[Node], inventory: Sequence[Path]) -> tuple[NodeParts, ...]:
    """What each node reports, in the order of `nodes`; a node that cannot be reached has its problem.

    Raises:
        ConfigError: the ssh arguments of a node are not supported, or the inventory cannot be read.
    """
    become = passwords(nodes, inventory)
    make_importable(site_content().validator_dirs)

    async def one(client: SshClient, node: Node) -> NodeParts:
        if node.connection.kind not in SSH_KINDS:
            return NodeParts(node.name, problem=f"ansible_connection is {node.connection.kind}: parts are read by SSH only")
        secret = become.get(node.name)
        if secret and secret.problem:
            return NodeParts(node.name, problem=f"become: {secret.problem}")
        return await read_parts(client, node, _NODE_S, secret.value if secret else "")

    async def everything() -> list[NodeParts]:
        async with SshClient() as client:
            return await fan_out(nodes, lambda node: one(client, node), _AT_ONCE)

    return tuple(asyncio.run(everything()))


def record_parts(store: Store, run_id: str, found: Sequence[NodeParts]) -> tuple[OtherMachine | Replacement, ...]:
    """Save the parts that nodes reported. Returns what was replaced since the last time: first, where it is the whole machine."""
    changes = [store.save_parts(run_id, node.node, node.parts) for node in found if not node.problem]
    return tuple(one for c in changes for one in (*((c.other,) if c.other else ()), *c.replaced))


def read_and_record(config: Config, target: str, nodes: Sequence[Node]) -> tuple[NodeParts, ...]:
    """Read the parts of nodes now, as a run of its own that changes no node.

    Raises:
        ConfigError: as `read_all_parts`.
    """
    with read_only_run("inventory", target, nodes, config) as run:
        found = read_all_parts(nodes, config.inventory)
        replaced = record_parts(run.store, run.rundir.id, found)
        for node in found:
            run.store.save_run_node(
                run.rundir.id, node.node, phase="done", outcome="failed" if node.problem else "done", detail=node.problem
            )
        run.code = ExitCode.UNREACHABLE if any(n.problem for n in found) else ExitCode.OK
        run.summary = {"nodes": len(nodes), "replaced": [f"{r.node}: {r.text}" for r in replaced]}
    return found
