"""One provisioning run: its request, its services, and which nodes have ended. Every transition of a node goes through it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from clusterctl.adapters.config_keys import REBOOT_BUDGET
from clusterctl.adapters.pools.headroom import Headroom
from clusterctl.adapters.pools.marking import Marker
from clusterctl.adapters.ssh.remote_result import RECONNECT_S
from clusterctl.core.pool_limits import PoolLimits
from clusterctl.model.errors import IllegalTransitionError
from clusterctl.model.exit_codes import ExitCode, worst
from clusterctl.model.provision import NodeMoved, NodeResult, Note, Phase, TaskSeen
from clusterctl.model.repair import NO_REPAIR
from clusterctl.model.state import State
from clusterctl.model.verdict import EXIT_CODES, Reason, ReasonKind

if TYPE_CHECKING:
    from collections.abc import Callable, KeysView, Mapping, Sequence
    from pathlib import Path

    from clusterctl.adapters.ansible.runner import PlaybookRequest
    from clusterctl.adapters.run_directory import RunDir
    from clusterctl.model.node import Node
    from clusterctl.model.playbook_result import PlaybookResult
    from clusterctl.model.provision import Progress, ProvisionOptions, ProvisionResult
    from clusterctl.workflows.admit import Candidate
    from clusterctl.workflows.provision.request import ProvisionRequest
    from clusterctl.workflows.provision.services import Services


@dataclass(slots=True)
class RunContext:
    """One provisioning run.

    Attributes:
        candidates: the nodes of the run, in rack order.
        lease_lost: whether another run took the nodes.
        partners: the admitted nodes that the operator named to measure with.
        reboot_budget: nodes of a rack that may be down at once, as playbooks/reboot.yml takes it.
        limits: how much of the pool may leave at once, and when.
        reconnect_s: how long a node is tried again that cannot be reached any more.
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
    reconnect_s: float = RECONNECT_S
    _active: dict[str, None] = field(default_factory=dict, init=False)
    _results: dict[str, NodeResult] = field(default_factory=dict, init=False)
    _playbooks: int = field(default=0, init=False)
    _started: float = field(default_factory=time.monotonic, init=False)
    _marker: Marker = field(init=False)

    def __post_init__(self) -> None:
        self._marker = Marker(self.services.pool)

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

    @property
    def active(self) -> KeysView[str]:
        """The nodes that have not ended yet, in rack order."""
        return self._active.keys()

    @property
    def results(self) -> Mapping[str, NodeResult]:
        """The nodes that have ended."""
        return self._results

    @property
    def duration_s(self) -> float:
        """Since the run began."""
        return time.monotonic() - self._started

    def begin(self, names: Sequence[str]) -> None:
        """Work on these nodes from now on."""
        self._active = dict.fromkeys(names)

    def active_nodes(self) -> list[Node]:
        """The nodes that have not ended yet."""
        return [self.candidates[n].node for n in self._active]

    def move(self, name: str, to: State, step: Phase, reason: str = "", found: Reason | None = None) -> bool:
        """Record a transition of a node and report it. Where the record refuses it, the node ends as it is, and the others go on: False."""
        try:
            self.step(name, to, step, reason, found)
        except IllegalTransitionError as e:
            self.refuse(name, e)
            return False
        return True

    def step(self, name: str, to: State, step: Phase, reason: str = "", found: Reason | None = None) -> None:
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
            cause=found.kind if found else None,
            reason_code=found.code if found else "",
            repair=found.first_repair if found else NO_REPAIR,
        )
        self.services.store.save_run_node(self.run_id, name, phase=step.value)
        self.notify(NodeMoved(name, to, step, reason))

    def quarantine(self, name: str, step: Phase, reasons: Sequence[Reason], exit_code: ExitCode | None = None) -> None:
        """Quarantine a node, and have its scheduler show the first reason; the others continue."""
        text = reasons[0].text + (f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else "")
        if not self.move(name, State.QUARANTINED, step, text, reasons[0]):
            return
        unmarked = self._marker.mark(name, reasons[0])
        if unmarked:
            self.notify(Note(unmarked))
        code = worst([EXIT_CODES[r.kind] for r in reasons]) if exit_code is None else exit_code
        self.end(name, State.QUARANTINED, code, text, tuple(reasons))

    def refuse(self, name: str, error: IllegalTransitionError) -> None:
        """End a node whose record refuses a transition, in the state that the record has."""
        record = self.services.store.node(name)
        state = record.state if record else State.REGISTERED
        self.end(name, state, ExitCode.CHANGES_PENDING, str(error), (Reason(ReasonKind.REFUSED, str(error), hint=error.hint),))

    def end(self, name: str, state: State, exit_code: ExitCode, reason: str = "", reasons: tuple[Reason, ...] = ()) -> None:
        """Record the end of a node, in any state."""
        self._results[name] = NodeResult(name, state, exit_code, reason, reasons, duration_s=self.duration_s, touched=name in self.active)
        self.services.store.save_run_node(self.run_id, name, phase=Phase.DONE.value, outcome=state.value, detail=reason)
        self.notify(NodeMoved(name, state, Phase.DONE, reason))
        self._active.pop(name, None)

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
        self._playbooks += 1
        return self.rundir.path_for(f"ansible/{self._playbooks:02d}-{request.playbook.removesuffix('.yml')}/ansible.log").parent

    def _played(self, outcome: PlaybookResult, artifacts: Path) -> PlaybookResult:
        self.notify(Note(f"equivalent command: {outcome.command_line}"))
        self.rundir.write_text(f"{artifacts.relative_to(self.rundir.path)}/command.txt", outcome.command_line + "\n")
        return outcome

    def summary(self, result: ProvisionResult) -> dict[str, Any]:
        """The summary of the run for its row."""
        if result.declined:
            return {"declined": True}
        changed = sum(n.changed for n in result.nodes)
        return {"counts": dict(result.counts), "changed": changed, "duration_s": round(result.duration_s, 1)}
