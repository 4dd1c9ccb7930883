"""A node as every document shows it."""

from __future__ import annotations

from dataclasses import dataclass

from clusterctl.model.state import State  # noqa: TC001 pydantic reads the annotations


@dataclass(frozen=True, slots=True)
class NodeSummary:
    """The state of a node.

    Attributes:
        reason: why it is in this state.
        reason_code: what took it out, for programs: `gate.rdma_pair`, `check.gpu.count`, `role.ofed`, `person` for a drain; empty where nobody and nothing took it out.
        component: the part that this is about; component_name: which one, where it is not a part of the node; next_action: what to do first, as in docs/reference/next-actions.md. Empty where it is not stated.
        owner: the person who took it out; empty = nobody.
        since: when it entered its state.
        spec_digest: the declared state that was last applied.
        declared_digest: the declared state when a run last read the inventory.
        spec_moved_on: whether the two differ.
        last_run: the last run that included it.
    """

    name: str
    state: State
    reason: str
    reason_code: str
    component: str
    component_name: str
    next_action: str
    owner: str
    since: str
    rack: str
    slot: int
    profile: str
    spec_digest: str
    declared_digest: str
    spec_moved_on: bool
    last_run: str
