"""Collects what is recorded of one node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.model.node_story import Story

if TYPE_CHECKING:
    from clusterctl.adapters.store import Store
    from clusterctl.model.records import NodeRecord


def node_story(store: Store, node: NodeRecord, limit: int) -> Story:
    """The story of a node, with its newest `limit` runs."""
    return Story(
        node=node,
        transitions=store.history(node.name),
        runs=store.runs(limit, node=node.name),
        unfinished=frozenset(r.id for r in store.unfinished_runs()),
        findings=store.findings(node.name),
        gate_results=store.gate_results(node.name),
        admissions=store.admissions(node.name),
        parts=store.parts([node.name]),
    )
