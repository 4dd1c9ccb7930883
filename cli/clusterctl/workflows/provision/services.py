"""What a provisioning run does to the world outside: nodes, pool, store. Tests put stand-ins in their places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from clusterctl.adapters.ansible.runner import PlaybookRequest
    from clusterctl.adapters.pools.base import Pool
    from clusterctl.adapters.store.store import Store
    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.gate_result import GateResult
    from clusterctl.model.node import Node
    from clusterctl.model.part import NodeParts
    from clusterctl.model.playbook_result import PlaybookResult
    from clusterctl.model.power import PowerReport
    from clusterctl.model.task_event import TaskEvent
    from clusterctl.model.validator_traits import ValidatorTraits
    from clusterctl.workflows.admit import Admitter


class OnNode(Protocol):
    """Runs playbooks on the nodes themselves."""

    @property
    def order(self) -> tuple[str, ...]:
        """The roles of the playbook, in its order."""
        ...

    def problems(self, nodes: Sequence[Node], findings: Mapping[str, NodeFindings]) -> Mapping[str, str]:
        """Node -> why it cannot run Ansible itself; empty if it can."""
        ...

    def from_controller(self, roles: Sequence[str], node: Node) -> frozenset[str]:
        """Those of `roles` that work from the controller on this node."""
        ...

    def play(
        self,
        request: PlaybookRequest,
        nodes: Sequence[Node],
        artifacts: Path,
        on_event: Callable[[TaskEvent], None],
        cancelled: Callable[[], bool],
    ) -> tuple[PlaybookResult, Mapping[str, str]]:
        """Run a playbook; also the nodes where it could not run, with the reason."""
        ...


class RunPlaybook(Protocol):
    """`clusterctl.adapters.ansible.runner.run_playbook`, or a stand-in."""

    def __call__(
        self,
        request: PlaybookRequest,
        artifacts: Path,
        on_event: Callable[[TaskEvent], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> PlaybookResult:
        """Run a playbook."""
        ...


@dataclass(frozen=True, slots=True)
class Services:
    """Everything with side effects; tests use stand-ins.

    Attributes:
        play: runs a playbook.
        validate: one round trip to each node.
        burn_in: measures and judges the first nodes; the second are partners.
        alone: node -> which of its gates cannot be measured for want of a second node; the second nodes are partners.
        neighbours: admitted nodes beside the first ones and none of the named, held for the run; none where the site does not allow it.
        power_cycle: switches nodes off and on by their BMCs, within the reboot budget.
        read_parts: the serial numbers of the parts of nodes.
        traits: what the validators declare.
        on_node: runs a playbook on the nodes themselves; None = it runs on the controller for all of them.
    """

    store: Store
    pool: Pool
    play: RunPlaybook
    validate: Callable[[Sequence[Node]], Sequence[NodeFindings]]
    burn_in: Callable[[Sequence[Node], Sequence[Node], Callable[[TaskEvent], None]], Sequence[GateResult]]
    admitter: Admitter
    alone: Callable[[Sequence[Node], Sequence[Node]], Mapping[str, str]]
    neighbours: Callable[[Sequence[Node], Sequence[str]], Sequence[Node]]
    power_cycle: Callable[[Sequence[Node]], Sequence[PowerReport]]
    read_parts: Callable[[Sequence[Node]], Sequence[NodeParts]]
    traits: ValidatorTraits
    on_node: OnNode | None = None
