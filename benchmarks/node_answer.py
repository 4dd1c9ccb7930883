"""The answer of a lab node to the validators' request, and its CPU cost on the node."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cpu_cost import CannotMeasureError

from clusterctl.adapters import config
from clusterctl.adapters.inventory.load import load_nodes
from clusterctl.adapters.ssh.ssh import SshClient
from clusterctl.adapters.validators import ValidationSettings, answer, bundle, request, validate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lab_site import Lab

    from clusterctl.model.node import Node

NODE_NAME = "{{node}}"


@dataclass(frozen=True)
class NodeAnswer:
    """A node's answer.

    Attributes:
        request: the request as it was sent.
        cpu_s: CPU time of the bundle and its children, measured on the node.
    """

    node: str
    request: bytes
    cpu_s: float
    findings: list[dict[str, Any]]

    @cached_property
    def outcomes(self) -> dict[str, str]:
        """Check -> outcome."""
        return {f["check"]: f["outcome"] for f in self.findings}

    def replayable(self) -> str:
        """The findings for a fleet to replay, with a placeholder for the node's name."""
        return json.dumps(self.findings, indent=0).replace(self.node, NODE_NAME)


def load_node(lab: Lab, name: str) -> Node:
    """Load a node of the lab with its spec."""
    (node,) = load_nodes(config.read_config(start=lab.site).inventory, name)
    return node


def query_node(lab: Lab, node: Node, roles: Iterable[str] = ()) -> NodeAnswer:
    """Run the validators of `roles` on the node, or of all its roles except those that query its BMC.

    Raises:
        CannotMeasureError: the node did not answer.
    """
    selected = tuple(roles)
    target = replace(node, spec=replace(node.spec, roles={r: v for r, v in node.spec.roles.items() if r in selected})) if selected else node
    settings = config.read_config(start=lab.site)
    (found,) = validate([target], settings.state_dir, inventory=settings.inventory)  # copies the bundle to the node
    if not found.findings:
        raise CannotMeasureError(f"{node.name}: {found.status.value}: {found.detail}")
    return asyncio.run(_raw(target, bundle.build_bundle(settings.state_dir)))


async def _raw(node: Node, built: bundle.Bundle) -> NodeAnswer:
    message = request.make(node, built, ValidationSettings())
    async with SshClient() as client:
        remote = await client.connect(node.connection)
        words = request.bundle_command("run", built, node.connection.python)
        reply = await remote.run(words, request.launcher_source() + message.body, answer.LIMIT_BYTES)
        remote.close()
    if reply.rc != 0:
        raise CannotMeasureError(f"{node.name}: {reply.stderr.decode(errors='replace')[-500:]}")
    data: dict[str, Any] = json.loads(reply.stdout)
    return NodeAnswer(node.name, message.body, data["cpu_s"], data["findings"])
