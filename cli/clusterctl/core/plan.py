"""What provisioning would change, from findings. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clusterctl.model.exit_codes import ExitCode, worst
from clusterctl.model.findings import NodeStatus, findings_exit_code
from clusterctl_validators.finding import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from clusterctl.model.findings import NodeFindings
    from clusterctl_validators.finding import Finding

# these roles assert and change nothing
UNCHANGEABLE_ROLES = frozenset({"hardware"})


@dataclass(frozen=True, slots=True)
class Change:
    """A failing check. `found` is empty where there is nothing yet."""

    role: str
    check: str
    found: str
    expected: str
    severity: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """A check that could not run, and why."""

    role: str
    check: str
    reason: str


@dataclass(frozen=True, slots=True)
class NodePlan:
    """What provisioning would change on a node.

    Attributes:
        status: OK, or why nothing is known.
        changes: what its roles would set.
        beyond_roles: failing checks that no role can mend (hardware).
        unknown: checks that could not run; their roles would run too.
    """

    node: str
    status: NodeStatus
    detail: str
    changes: tuple[Change, ...]
    beyond_roles: tuple[Change, ...]
    unknown: tuple[Unknown, ...]

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that would run, in the order of the findings."""
        named = [*(c.role for c in self.changes), *(u.role for u in self.unknown)]
        return tuple(dict.fromkeys(role for role in named if role not in UNCHANGEABLE_ROLES))


@dataclass(frozen=True, slots=True)
class Plan:
    """What provisioning would change."""

    nodes: tuple[NodePlan, ...]

    @property
    def to_change(self) -> tuple[NodePlan, ...]:
        """The nodes with something to do."""
        return tuple(n for n in self.nodes if n.roles)

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that would run somewhere."""
        return tuple(dict.fromkeys(r for n in self.nodes for r in n.roles))

    @property
    def summary(self) -> str:
        """The last line."""
        return f"Plan: {_count(len(self.to_change), 'node')}, {_count(len(self.roles), 'role')} to change."

    @property
    def lost(self) -> tuple[NodePlan, ...]:
        """The nodes of which nothing is known."""
        return tuple(n for n in self.nodes if n.status is not NodeStatus.OK)


def make_plan(results: Iterable[NodeFindings]) -> Plan:
    """The plan behind findings."""
    return Plan(tuple(_node(r) for r in results))


def plan_exit_code(plan: Plan, results: Iterable[NodeFindings]) -> ExitCode:
    """8 changes pending; 4 or 6 where a node gave no answer, or where what is wrong is not for a role to change.

    A check that could not run on a node with changes pending is no failure yet: the tool it needs may be among them.
    """
    codes = [ExitCode.CHANGES_PENDING] if any(n.changes for n in plan.nodes) else []
    pending = {n.node for n in plan.nodes if n.changes}
    return worst([*codes, findings_exit_code(r for r in results if r.node not in pending)])


def _node(result: NodeFindings) -> NodePlan:
    failing = [f for f in result.findings if f.outcome is Outcome.FAIL]
    return NodePlan(
        result.node,
        result.status,
        result.detail,
        tuple(_change(f) for f in failing if f.role not in UNCHANGEABLE_ROLES),
        tuple(_change(f) for f in failing if f.role in UNCHANGEABLE_ROLES),
        tuple(Unknown(f.role, f.check, f.reason) for f in result.findings if f.outcome is Outcome.COULD_NOT_RUN),
    )


def _change(finding: Finding) -> Change:
    return Change(finding.role, finding.check, finding.found, finding.expected, finding.severity.value)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def plan_body(plan: Plan, digests: Mapping[str, str]) -> dict[str, Any]:
    """Plain JSON values; `digests`: node -> digest of the declared state that was compared with."""

    def change(one: Change) -> dict[str, str]:
        return {"role": one.role, "check": one.check, "found": one.found, "expected": one.expected, "severity": one.severity}

    return {
        "summary": {"nodes_to_change": len(plan.to_change), "roles_to_change": list(plan.roles)},
        "nodes": [
            {
                "name": n.node,
                "status": n.status.value,
                "detail": n.detail,
                "spec_digest": digests[n.node],
                "roles": list(n.roles),
                "changes": [change(c) for c in n.changes],
                "beyond_roles": [change(c) for c in n.beyond_roles],
                "could_not_run": [{"role": u.role, "check": u.check, "reason": u.reason} for u in n.unknown],
            }
            for n in plan.nodes
        ],
    }
