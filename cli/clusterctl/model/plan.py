"""What `provision` would do with each node of a target."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.findings import LOST, NodeStatus

if TYPE_CHECKING:
    from clusterctl.model.state import State
    from clusterctl.model.verdict import Reason


class PlannedAction(StrEnum):
    """What a plan does with a node. ADMIT: it was measured before, and nothing else is missing. QUARANTINE: a check fails that no role can repair."""

    LEAVE = "leave"
    PROVISION = "work"
    ADMIT = "admit"
    QUARANTINE = "quarantine"
    UNREACHABLE = "unreachable"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class Change:
    """A failing check. `found` is empty where there is nothing yet."""

    role: str
    check: str
    found: str
    expected: str
    severity: str


@dataclass(frozen=True, slots=True)
class UnknownCheck:
    """A check that could not run, and why."""

    role: str
    check: str
    reason: str


@dataclass(frozen=True, slots=True)
class NodePlan:
    """What is to be done with one node, and why.

    Attributes:
        state: current lifecycle state.
        why: one line for people.
        status: OK, or why nothing is known of the node.
        detail: more about `status`; may be empty.
        roles: roles that would run, in the order of `node_roles`; may be empty for PROVISION (only burn-in is missing).
        asserting: those of `roles` that assert and change nothing.
        changes: failing checks that roles can repair.
        beyond_roles: failing checks that no role can repair (hardware).
        unknown: checks that could not run; their roles would run, too.
        reasons: why the node is quarantined, or is left out.
        exit_code: what the node contributes to the exit code of `provision` if it is not provisioned.
        simulated: the stored evidence against it comes from a lab.
    """

    node: str
    action: PlannedAction
    state: State
    why: str
    status: NodeStatus = NodeStatus.OK
    detail: str = ""
    roles: tuple[str, ...] = ()
    asserting: frozenset[str] = frozenset()
    changes: tuple[Change, ...] = ()
    beyond_roles: tuple[Change, ...] = ()
    unknown: tuple[UnknownCheck, ...] = ()
    reasons: tuple[Reason, ...] = ()
    exit_code: ExitCode = ExitCode.OK
    simulated: bool = False

    @property
    def failing(self) -> tuple[str, ...]:
        """Ids of the checks that did not pass."""
        return (*(c.check for c in (*self.changes, *self.beyond_roles)), *(u.check for u in self.unknown))

    @property
    def changing_roles(self) -> tuple[str, ...]:
        """The roles that would run and can change the node."""
        return tuple(r for r in self.roles if r not in self.asserting)

    @property
    def check_code(self) -> ExitCode:
        """What the node contributes to the exit code of `plan`: 8 changes pending, 4 or 6 where it cannot be brought into its declared state."""
        if self.changing_roles and self.changes:
            return ExitCode.CHANGES_PENDING
        if self.status in LOST:
            return ExitCode.UNREACHABLE
        if self.status is not NodeStatus.OK or (self.failing and self.action is not PlannedAction.LEAVE):
            return ExitCode.VALIDATOR_FAILED
        return ExitCode.OK


@dataclass(frozen=True, slots=True)
class Plan:
    """The plans of all nodes, in rack order."""

    nodes: tuple[NodePlan, ...]

    @property
    def to_provision(self) -> tuple[NodePlan, ...]:
        """The nodes that will be provisioned."""
        return tuple(n for n in self.nodes if n.action is PlannedAction.PROVISION)

    @property
    def to_admit(self) -> tuple[NodePlan, ...]:
        """The nodes that will be admitted on evidence of an earlier run."""
        return tuple(n for n in self.nodes if n.action is PlannedAction.ADMIT)

    @property
    def to_quarantine(self) -> tuple[NodePlan, ...]:
        """The nodes that will be quarantined without being changed."""
        return tuple(n for n in self.nodes if n.action is PlannedAction.QUARANTINE)

    @property
    def leaving_pool(self) -> tuple[str, ...]:
        """The nodes that will be taken out of the pool, where they are in it."""
        return tuple(n.node for n in (*self.to_provision, *self.to_quarantine))

    @property
    def to_change(self) -> tuple[NodePlan, ...]:
        """The nodes on which roles will change something."""
        return tuple(n for n in self.nodes if n.changing_roles)

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that will change something somewhere."""
        return tuple(dict.fromkeys(r for n in self.nodes for r in n.changing_roles))

    @property
    def lost(self) -> tuple[NodePlan, ...]:
        """The nodes of which nothing is known."""
        return tuple(n for n in self.nodes if n.status is not NodeStatus.OK)
