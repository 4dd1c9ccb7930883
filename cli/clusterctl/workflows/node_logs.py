"""`clusterctl logs`: the logs of a target, read by SSH at once; nothing is written, on the nodes or in the record."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from clusterctl.adapters.ssh.fanout import fan_out
from clusterctl.adapters.ssh.read_host_log import read_host_log
from clusterctl.adapters.ssh.ssh import SshClient
from clusterctl.adapters.validators.passwords import passwords
from clusterctl.model.node import SSH_KINDS
from clusterctl.model.node_log import LogOutcome, NodeLog

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from clusterctl.model.node import Node
    from clusterctl.model.node_log import LogWindow

# what the nodes send is in memory at once
_AT_ONCE = 32
_NODE_S = 60.0


def read_node_logs(nodes: Sequence[Node], inventory: Sequence[Path], window: LogWindow) -> tuple[NodeLog, ...]:
    """The log of each node, in the order of `nodes`; a node that cannot be reached has its problem.

    Raises:
        ConfigError: the inventory cannot be read.
    """
    become = passwords(nodes, inventory)

    async def one(client: SshClient, node: Node) -> NodeLog:
        if node.connection.kind not in SSH_KINDS:
            return NodeLog(node.name, LogOutcome.NOT_READ, f"ansible_connection is {node.connection.kind}: logs are read by SSH only")
        secret = become.get(node.name)
        if secret and secret.problem:
            return NodeLog(node.name, LogOutcome.NOT_READ, f"become: {secret.problem}")
        return await read_host_log(client, node, window, _NODE_S, secret.value if secret else "")

    async def everything() -> list[NodeLog]:
        async with SshClient() as client:
            return await fan_out(nodes, lambda node: one(client, node), _AT_ONCE)

    return tuple(asyncio.run(everything()))
