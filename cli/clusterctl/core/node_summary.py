"""The summary of a node's record. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.model.node_summary import NodeSummary

if TYPE_CHECKING:
    from clusterctl.model.records import NodeRecord


def node_summary(node: NodeRecord) -> NodeSummary:
    """A node as every document shows it."""
    return NodeSummary(
        node.name,
        node.state,
        node.reason,
        node.reason_code,
        node.component,
        node.component_name,
        node.next_action,
        node.owner,
        node.since,
        node.rack,
        node.slot,
        node.profile,
        node.spec_digest,
        node.declared_digest,
        node.spec_moved_on,
        node.last_run,
    )
