"""Validate nodes in the middle of a run: one that answered before is tried again while its sshd or its network restarts."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from clusterctl.model.findings import NodeStatus
from clusterctl.model.provision import Note
from clusterctl.model.running_text import first_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.node import Node
    from clusterctl.workflows.provision.context import RunContext

_PAUSE_S = 5.0


def validate_again(context: RunContext, nodes: Sequence[Node]) -> Collection[NodeFindings]:
    """The findings of nodes that answered earlier in the run; those that cannot be reached are tried until `reconnect_s` is over.

    Once they are back all nodes are validated together, because findings of a node are of its rack, too.
    """
    if not nodes:
        return ()
    found = {f.node: f for f in context.services.validate(nodes)}
    ends = time.monotonic() + context.reconnect_s
    lost = _lost(nodes, found.values())
    if lost and time.monotonic() < ends:
        context.notify(Note(f"no connection to {first_of([n.name for n in lost], 3)}: tried again for {context.reconnect_s:g} s"))
    away = len(lost)
    while lost and time.monotonic() < ends and not context.lease_lost():
        time.sleep(_PAUSE_S)
        lost = _lost(lost, context.services.validate(lost))
    return found.values() if len(lost) == away else context.services.validate(nodes)


def _lost(nodes: Sequence[Node], found: Collection[NodeFindings]) -> list[Node]:
    unreachable = {f.node for f in found if f.status is NodeStatus.UNREACHABLE}
    return [n for n in nodes if n.name in unreachable]
