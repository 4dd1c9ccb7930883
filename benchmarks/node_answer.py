"""What a lab node answers `clusterctl drift`, and what that costs the node."""

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

OWN = "{{node}}"


@dataclass(frozen=True)
class Answer:
    """A node's answer.

    Attributes:
        request: what it was asked, as sent.
        cpu_s: of the node's bundle and its children, as the node counts it.
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
        """The findings as a fleet replays them: the node's name becomes the name of whoever is asked."""
        return json.dumps(self.findings, indent=0).replace(self.node, OWN)


def load(lab: Lab, name: str) -> Node:
    """A node of the lab with its spec."""
    (node,) = load_nodes(config.read_config(start=lab.site).inventory, name)
    return node


def ask(lab: Lab, node: Node, roles: Iterable[str] = ()) -> Answer:
    """Ask it all its roles but those of its BMC, or `roles` alone.

    Raises:
        CannotMeasureError: it gives no answer.
    """
    kept = tuple(roles)
    meant = replace(node, spec=replace(node.spec, roles={r: v for r, v in node.spec.roles.items() if r in kept})) if kept else node
    settings = config.read_config(start=lab.site)
    (found,) = validate([meant], settings.state_dir, inventory=settings.inventory)  # the bundle is there afterwards
    if not found.findings:
        raise CannotMeasureError(f"{node.name}: {found.status.value}: {found.detail}")
    return asyncio.run(_raw(meant, bundle.build_bundle(settings.state_dir)))


async def _raw(node: Node, built: bundle.Bundle) -> Answer:
    asked = request.make(node, built, ValidationSettings())
    async with SshClient() as client:
        remote = await client.connect(node.connection)
        words = request.bundle_command("run", built, node.connection.python)
        said = await remote.run(words, request.launcher_source() + asked.body, answer.LIMIT_BYTES)
        remote.close()
    if said.rc != 0:
        raise CannotMeasureError(f"{node.name}: {said.stderr.decode(errors='replace')[-500:]}")
    data: dict[str, Any] = json.loads(said.stdout)
    return Answer(node.name, asked.body, data["cpu_s"], data["findings"])
