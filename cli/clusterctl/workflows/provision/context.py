"""The state of one provisioning run: which nodes are active, and what is known of each. The steps read and change it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from clusterctl.adapters.config_keys import REBOOT_BUDGET
from clusterctl.adapters.pools.headroom import Headroom
from clusterctl.core.pool_limits import PoolLimits
from clusterctl.model.errors import IllegalTransitionError
from clusterctl.model.exit_codes import ExitCode, worst
from clusterctl.model.playbook_result import HostOutcome, HostStatus
from clusterctl.model.provision import NodeMoved, NodeResult, Note, Phase, TaskSeen
from clusterctl.model.state import State
from clusterctl.model.verdict import EXIT_CODES, Reason, ReasonKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from clusterctl.adapters.ansible.runner import PlaybookRequest
    from clusterctl.adapters.pools.base import Pool
    from clusterctl.adapters.run_directory import RunDir
    from clusterctl.adapters.store.store import Store
    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.gate_result import GateResult
    from clusterctl.model.node import Node
    from clusterctl.model.part import NodeParts
    from clusterctl.model.plan import NodePlan
    from clusterctl.model.playbook_result import PlaybookResult
    from clusterctl.model.power import PowerReport
    from clusterctl.model.provision import Progress, ProvisionOptions, ProvisionResult
    from clusterctl.model.task_event import TaskEvent
    from clusterctl.model.validator_traits import ValidatorTraits
    from clusterctl.workflows.admit import Admitter, Candidate
    from clusterctl.workflows.provision.request import ProvisionRequest


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


@dataclass(slots=True)
class RunContext:
    """One provisioning run.

    Attributes:
        candidates: the nodes of the run, in rack order.
        active: the nodes that have not ended yet, in rack order.
        results: the nodes that have ended.
        left: the roles of its plan that a node still needs, where some were applied before it booted the declared kernel.
        rebooted: the roles for which a node was rebooted.
        power_cycled: the nodes that lost power and came back; once is enough.
        reboot_budget: nodes of a rack that may be down at once, as playbooks/reboot.yml takes it.
        limits: how much of the pool may leave at once, and when.
        playbooks: number of playbook runs so far; numbers their artifacts.
    """

    services: Services
    request: ProvisionRequest
    rundir: RunDir
    candidates: Mapping[str, Candidate]
    notify: Callable[[Progress], None]
    lease_lost: Callable[[], bool] = lambda: False
    partners: tuple[Node, ...] = ()
    reboot_budget: str = REBOOT_BUDGET
    limits: PoolLimits = PoolLimits()  # noqa: RUF009 frozen
    active: list[str] = field(default_factory=list)
    results: dict[str, NodeResult] = field(default_factory=dict)
    findings: dict[str, NodeFindings] = field(default_factory=dict)
    applied: dict[str, HostOutcome] = field(default_factory=dict)
    left: dict[str, tuple[str, ...]] = field(default_factory=dict)
    rebooted: dict[str, tuple[str, ...]] = field(default_factory=dict)
    power_cycled: set[str] = field(default_factory=set)
    gate_results: list[GateResult] = field(default_factory=list)
    plans: dict[str, NodePlan] = field(default_factory=dict)
    playbooks: int = 0
    started: float = field(default_factory=time.monotonic)

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.rundir.id

    @property
    def options(self) -> ProvisionOptions:
        """The options of the request."""
        return self.request.options

    @property
    def headroom(self) -> Headroom:
        """What may leave the pool now."""
        return Headroom(self.services.store, self.services.pool, self.limits)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes of the run, in rack order."""
        return tuple(c.node for c in self.candidates.values())

    def active_nodes(self) -> list[Node]:
        """The nodes that have not ended yet."""
        return [self.candidates[n].node for n in self.active]

    def move(self, name: str, to: State, step: Phase, reason: str = "", cause: ReasonKind | None = None) -> bool:
        """Record a transition of a node and report it. Where the record refuses it, the node ends as it is, and the others go on: False."""
        try:
            self.step(name, to, step, reason, cause)
        except IllegalTransitionError as e:
            self.refuse(name, e)
            return False
        return True

    def step(self, name: str, to: State, step: Phase, reason: str = "", cause: ReasonKind | None = None) -> None:
        """As `move`.

        Raises:
            IllegalTransitionError: the record refuses it.
        """
        digest, operator = self.candidates[name].node.spec.digest, self.services.admitter.operator
        self.services.store.transition(
            name,
            to,
            run_id=self.run_id,
            operator=operator,
            reason=reason,
            spec_digest=digest,
            include_owned=self.options.include_drained,
            cause=cause,
        )
        self.services.store.save_run_node(self.run_id, name, phase=step.value)
        self.notify(NodeMoved(name, to, step, reason))

    def quarantine(self, name: str, step: Phase, reasons: Sequence[Reason], exit_code: ExitCode | None = None) -> None:
        """Quarantine a node; the others continue."""
        text = reasons[0].text + (f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else "")
        if not self.move(name, State.QUARANTINED, step, text, reasons[0].kind):
            return
        code = worst([EXIT_CODES[r.kind] for r in reasons]) if exit_code is None else exit_code
        self.end(name, State.QUARANTINED, code, text, tuple(reasons))

    def refuse(self, name: str, error: IllegalTransitionError) -> None:
        """End a node whose record refuses a transition, in the state that the record has."""
        record = self.services.store.node(name)
        state = record.state if record else State.REGISTERED
        self.end(name, state, ExitCode.CHANGES_PENDING, str(error), (Reason(ReasonKind.REFUSED, str(error), hint=error.hint),))

    def end(self, name: str, state: State, exit_code: ExitCode, reason: str = "", reasons: tuple[Reason, ...] = ()) -> None:
        """Record the end of a node, in any state."""
        changed = self.applied[name].changed if name in self.applied else 0
        spent = time.monotonic() - self.started
        touched = name in self.plans and name in self.active
        self.results[name] = NodeResult(name, state, exit_code, reason, reasons, changed, spent, touched)
        self.services.store.save_run_node(self.run_id, name, phase=Phase.DONE.value, outcome=state.value, detail=reason)
        self.notify(NodeMoved(name, state, Phase.DONE, reason))
        if name in self.active:
            self.active.remove(name)

    def playbook(self, request: PlaybookRequest, step: Phase) -> PlaybookResult:
        """Run a playbook for a step; report its events and its equivalent command."""
        artifacts = self._artifacts(request)
        outcome = self.services.play(request, artifacts, lambda event: self.notify(TaskSeen(step, event)), self.lease_lost)
        return self._played(outcome, artifacts)

    def playbook_on_nodes(self, request: PlaybookRequest, step: Phase) -> tuple[PlaybookResult, Mapping[str, str]]:
        """As `playbook`, on the nodes themselves; and the nodes where it could not run, with the reason. Only where the services have it."""
        on_node = self.services.on_node
        if on_node is None:
            return self.playbook(request, step), {}
        artifacts = self._artifacts(request)
        nodes = [self.candidates[n].node for n in request.nodes]
        outcome, unsuited = on_node.play(request, nodes, artifacts, lambda event: self.notify(TaskSeen(step, event)), self.lease_lost)
        return self._played(outcome, artifacts), unsuited

    def _artifacts(self, request: PlaybookRequest) -> Path:
        self.playbooks += 1
        return self.rundir.path_for(f"ansible/{self.playbooks:02d}-{request.playbook.removesuffix('.yml')}/ansible.log").parent

    def _played(self, outcome: PlaybookResult, artifacts: Path) -> PlaybookResult:
        self.notify(Note(f"equivalent command: {outcome.command_line}"))
        self.rundir.write_text(f"{artifacts.relative_to(self.rundir.path)}/command.txt", outcome.command_line + "\n")
        return outcome

    def merge(self, outcome: HostOutcome) -> None:
        """Add the outcome of a further playbook on a node."""
        before = self.applied.get(outcome.node, HostOutcome(outcome.node, HostStatus.OK))
        self.applied[outcome.node] = HostOutcome(
            outcome.node,
            outcome.status,
            before.ok + outcome.ok,
            before.changed + outcome.changed,
            outcome.failures,
            outcome.reboot_required,
            outcome.apply_again,
            outcome.waiting,
        )

    def summary(self, result: ProvisionResult) -> dict[str, Any]:
        """The summary of the run for its row."""
        if result.declined:
            return {"declined": True}
        changed = sum(n.changed for n in result.nodes)
        return {"counts": dict(result.counts), "changed": changed, "duration_s": round(result.duration_s, 1)}
