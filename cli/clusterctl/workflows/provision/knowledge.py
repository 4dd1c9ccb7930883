"""The facts of a run about its nodes. Each step takes them and returns them updated."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from clusterctl.model.playbook_result import HostOutcome, HostStatus

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.gate_result import GateResult
    from clusterctl.model.node import Node
    from clusterctl.model.plan import NodePlan, Plan


@dataclass(frozen=True, slots=True)
class Changes:
    """What was done to the nodes, by node.

    Attributes:
        outcomes: what applying roles came to so far.
        left: the roles of its plan that a node still needs, where some were applied before it booted the declared kernel.
        rebooted: the roles for which a node was rebooted.
        power_cycled: the nodes that lost power and came back; once is enough.
    """

    outcomes: Mapping[str, HostOutcome] = field(default_factory=dict)
    left: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rebooted: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    power_cycled: frozenset[str] = frozenset()

    def pending(self, names: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Those of `names` that require a reboot -> the roles that require it."""
        return {n: self.outcomes[n].reboot_required for n in names if n in self.outcomes and self.outcomes[n].reboot_required}

    def merge(self, outcomes: Iterable[HostOutcome]) -> Changes:
        """With the outcomes of a further playbook, which replace what the nodes wait for."""
        return replace(self, outcomes={**self.outcomes, **{o.node: self._merged(o) for o in outcomes}})

    def _merged(self, outcome: HostOutcome) -> HostOutcome:
        before = self.outcomes.get(outcome.node, HostOutcome(outcome.node, HostStatus.OK))
        return replace(outcome, ok=before.ok + outcome.ok, changed=before.changed + outcome.changed)

    def leave(self, left: Mapping[str, tuple[str, ...]]) -> Changes:
        """With the roles that nodes still need."""
        return replace(self, left={**self.left, **left})

    def rebooting(self, pending: Mapping[str, tuple[str, ...]]) -> Changes:
        """With nodes that are rebooted for these roles."""
        both = {n: tuple(dict.fromkeys((*self.rebooted.get(n, ()), *roles))) for n, roles in pending.items()}
        return replace(self, rebooted={**self.rebooted, **both})

    def settled(self, names: Iterable[str]) -> Changes:
        """With nodes that no longer require a reboot."""
        return replace(self, outcomes={**self.outcomes, **{n: replace(self.outcomes[n], reboot_required=()) for n in names}})

    def cycled(self, names: Collection[str]) -> Changes:
        """With nodes that were power-cycled."""
        return replace(self, power_cycled=self.power_cycled.union(names))


@dataclass(frozen=True, slots=True)
class Knowledge:
    """The facts of a run about its nodes.

    Attributes:
        findings: the newest ones of each node.
        unchanged_since: the nodes that were validated together last, while nothing was done to any node since.
        partners: the admitted nodes that measure with them.
        gate_results: of the nodes that are judged.
    """

    plan: Plan
    findings: Mapping[str, NodeFindings]
    partners: tuple[Node, ...] = ()
    changes: Changes = Changes()
    gate_results: tuple[GateResult, ...] = ()
    unchanged_since: frozenset[str] = frozenset()

    @property
    def plans(self) -> dict[str, NodePlan]:
        """Node -> its plan."""
        return {p.node: p for p in self.plan.nodes}

    def found(self, findings: Iterable[NodeFindings]) -> Knowledge:
        """With newer findings of nodes that were validated together."""
        new = {f.node: f for f in findings}
        return replace(self, findings={**self.findings, **new}, unchanged_since=frozenset(new))

    def changed(self, changes: Changes) -> Knowledge:
        """With what was done to the nodes so far."""
        return replace(self, changes=changes, unchanged_since=frozenset())

    def settled(self, names: Iterable[str]) -> Knowledge:
        """With nodes that no longer require a reboot, which changes none of them."""
        return replace(self, changes=self.changes.settled(names))

    def measured(self, results: Iterable[GateResult]) -> Knowledge:
        """With further gate results."""
        return replace(self, gate_results=(*self.gate_results, *results))
