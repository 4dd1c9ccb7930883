"""A provisioning run without nodes: real store and pool; fake SSH, Ansible and gates."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from clusterctl.adapters.config import Config
from clusterctl.adapters.pools.answering import Answering
from clusterctl.adapters.pools.local import LocalPool
from clusterctl.adapters.store import Store
from clusterctl.adapters.validator_declarations import read_traits
from clusterctl.core.pool_limits import PoolLimits
from clusterctl.model.findings import NodeFindings, NodeStatus
from clusterctl.model.gate_result import GateResult
from clusterctl.model.node import Connection, Node, NodeSpec, Place
from clusterctl.model.part import NodeParts, Part
from clusterctl.model.playbook_result import HostOutcome, HostStatus, PlaybookResult, PlaybookStatus, TaskFailure
from clusterctl.model.power import PowerOutcome, PowerReport
from clusterctl.model.provision import ProvisionOptions
from clusterctl.model.task_event import TaskEvent, TaskStatus
from clusterctl.model.trouble_counts import TroubleCounts
from clusterctl.workflows.admit import Admitter, Candidate
from clusterctl.workflows.admit_again import admit_now
from clusterctl.workflows.lemons import due_of
from clusterctl.workflows.provision.context import RunContext
from clusterctl.workflows.provision.flow import provision
from clusterctl.workflows.provision.request import ProvisionRequest
from clusterctl.workflows.provision.resume import INTERRUPTED, RESUME_HINT
from clusterctl.workflows.provision.services import Services
from clusterctl.workflows.reconcile import reconcile
from clusterctl.workflows.run import RunStart, recorded_run
from clusterctl.workflows.validate import read_only_run
from clusterctl_validators.finding import Finding, Outcome, Severity
from support.stores import place_empty

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from clusterctl.adapters.ansible.runner import PlaybookRequest
    from clusterctl.adapters.pools.base import Pool
    from clusterctl.adapters.run_directory import RunDir
    from clusterctl.core.saved_plan import SavedPlan
    from clusterctl.model.plan import Plan
    from clusterctl.model.provision import Progress, ProvisionResult
    from clusterctl.model.shard import Fence
    from clusterctl.model.state import State
    from clusterctl.model.verdict import Admission
    from clusterctl.workflows.run import Run

ROLES = ("kernel", "hugepages")
GATES = ("dcgm_diag", "rdma_pair")


def node(name: str, digest: str = "d1", roles: Sequence[str] = ROLES) -> Node:
    """A node of rack r12."""
    spec = NodeSpec(roles={r: {} for r in roles}, gates={}, waivers=(), digest=digest)
    return Node(name, ("rack_12", "profile_lab"), Connection(name), Place(rack="r12", slot=int(name[-1])), spec)


def finding(role: str, outcome: Outcome = Outcome.PASS, severity: Severity = Severity.MAJOR) -> Finding:
    """The finding of a role whose outcome the test chooses."""
    return Finding(f"{role}.value.running", role, outcome, severity, "1", "1" if outcome is Outcome.PASS else "0", f"run role {role}")


@dataclass
class World:
    """Fake nodes that record what was done to them.

    Attributes:
        bad: node -> roles that differ from the declared state. Applying a role fixes it, unless it is in `incurable`.
        lost: node -> status of a node that cannot be validated.
        role_fails: nodes on which Ansible fails.
        ansible_lost: nodes that become unreachable during a playbook.
        no_return: nodes that do not come back from a reboot.
        other_kernel: nodes that run another kernel than the declared one, until a reboot after the role kernel.
        reboot: roles that require a reboot.
        again: role -> number of further rounds that it requires, each with a reboot; nodes in `bad` fail its check until they are over.
        gate_fails: nodes on which the gate rdma_pair fails.
        gates: replaces the results of burn-in.
        parts: node -> its parts.
        pairs: the gate rdma_pair needs a second node.
        level: the gates of the chosen level.
        lemon_limits: from how many events on a node owes a burn-in of level full; as it is, never.
        fence: the right to write, of a worker of the queue.
        reconnect_s: how long a node is tried again that is in `lost` after the first validation.
        boot_id: the boot of all nodes; the gate dcgm_diag reports it.
        pool: instead of the pool `local`.
        answering: that pool, and how long a run waits for it.
        allowed_partners: admitted nodes that the site allows to measure with.
        before: called before each operation with its name.
        calls: operations and their nodes, in order.
        requests: of playbooks, in order.
        progress: reported progress.
    """

    state_dir: Path
    names: Sequence[str] = ("r12-n01", "r12-n02", "r12-n03")
    digest: str = "d1"
    bad: dict[str, set[str]] = field(default_factory=dict)
    incurable: set[str] = field(default_factory=set)
    severity: Severity = Severity.MAJOR
    lost: dict[str, NodeStatus] = field(default_factory=dict)
    role_fails: set[str] = field(default_factory=set)
    ansible_lost: set[str] = field(default_factory=set)
    no_return: set[str] = field(default_factory=set)
    other_kernel: set[str] = field(default_factory=set)
    reboot: set[str] = field(default_factory=set)
    again: dict[str, int] = field(default_factory=dict)
    gate_fails: set[str] = field(default_factory=set)
    gates: Callable[[Sequence[Node]], Sequence[GateResult]] | None = None
    parts: dict[str, list[Part]] = field(default_factory=dict)
    pairs: bool = False
    allowed_partners: Sequence[str] = ()
    before: Callable[[str], None] = lambda _what: None
    calls: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    requests: list[PlaybookRequest] = field(default_factory=list)
    progress: list[Progress] = field(default_factory=list)
    plans: list[Plan] = field(default_factory=list)
    answer: bool = True
    saved_plan: SavedPlan | None = None
    limits: PoolLimits = PoolLimits()  # noqa: RUF009 frozen
    pool: Pool | None = None
    answering: Answering | None = None
    boot_id: str = "boot-1"
    level: Sequence[str] = GATES
    lemon_limits: TroubleCounts = TroubleCounts()  # noqa: RUF009 frozen
    fence: Fence | None = None
    reconnect_s: float = 0.0

    def __post_init__(self) -> None:
        file = self.state_dir / "clusterctl.db"
        if self.url == f"sqlite:///{file}" and not file.exists():
            place_empty(self.state_dir)

    @property
    def url(self) -> str:
        return f"sqlite:///{self.state_dir / 'clusterctl.db'}"

    def states(self) -> dict[str, State]:
        with Store.open(self.url) as store:
            return {n.name: n.state for n in store.nodes()}

    def reasons(self) -> dict[str, str]:
        with Store.open(self.url) as store:
            return {n.name: n.reason for n in store.nodes()}

    def members(self) -> frozenset[str]:
        with Store.open(self.url) as store:
            return LocalPool.create(store).members()

    def run(self, *names: str, confirm: Callable[[Plan], bool] | None = None, **options: Any) -> ProvisionResult:
        """Provision the named nodes, or all."""
        nodes = [self.node(n) for n in names or self.names]
        with Store.open(self.url, fence=self.fence) as store:
            store.register_new(nodes)
            reconcile(store, self.pool or LocalPool.create(store), "ada")
            with self.recorded(store, nodes) as run:
                store.register(nodes)
                context = self.context(store, run.rundir, nodes, ProvisionOptions(**options))
                context.lease_lost = run.lease_lost.is_set
                result = provision(context, confirm or self.confirm)
                run.code, run.summary = result.exit_code, context.summary(result)
            return result

    def admit(self, *names: str, include_owned: bool = False) -> tuple[Admission, ...]:
        """`admit` of the named nodes, or all."""
        nodes = [self.node(n) for n in names or self.names]
        with Store.open(self.url) as store:
            store.register(nodes)
            admitter = Admitter(store, Answering(self.pool or LocalPool.create(store)), "x", {})
            due = due_of(store, self.lemon_limits, [n.name for n in nodes])
            candidates = [Candidate(n, GATES, (), due.get(n.name)) for n in nodes]
            return admit_now(admitter, candidates, self.validate, self.state_dir, target="rack-12", include_owned=include_owned)

    def looked_at(self, *names: str, digest: str = "d2", fails: bool = False) -> None:
        """A colleague's `validate` of the named nodes, or all, from another checkout of the inventory."""
        nodes = [node(n, digest) for n in names or self.names]
        bad = Outcome.FAIL if fails else Outcome.PASS
        with read_only_run(
            "validate", "all", nodes, Config(root=self.state_dir, inventory=(), state_dir=self.state_dir, operator="bob")
        ) as run:
            found = tuple(finding(r, bad) for r in ROLES)
            run.store.save_findings(run.rundir.id, *(NodeFindings(n.name, NodeStatus.OK, "", found, 0.1) for n in nodes))

    def once_before(self, operation: str, action: Callable[[], None]) -> None:
        """Call `action` before the first operation of this name."""
        done: list[str] = []

        def call(what: str) -> None:
            if what == operation and not done:
                done.append(what)
                action()

        self.before = call

    def node(self, name: str) -> Node:
        """A node as the inventory declares it."""
        return node(name, self.digest)

    def alone(self, nodes: Sequence[Node], partners: Sequence[Node]) -> dict[str, str]:
        lonely = self.pairs and len(nodes) + len(partners) == 1
        return {n.name: "rdma_pair needs a second node" for n in nodes if lonely}

    def neighbours(self, nodes: Sequence[Node], excluded: Sequence[str]) -> Sequence[Node]:
        return [self.node(n) for n in self.allowed_partners if n not in excluded and n not in {x.name for x in nodes}]

    def power_cycle(self, nodes: Sequence[Node]) -> Sequence[PowerReport]:
        self._call("power_cycle", [n.name for n in nodes])
        return [PowerReport(n.name, PowerOutcome.DONE, "on") for n in nodes]

    def read_parts(self, nodes: Sequence[Node]) -> Sequence[NodeParts]:
        return [NodeParts(n.name, tuple(self.parts.get(n.name, ()))) for n in nodes]

    def recorded(self, store: Store, nodes: Sequence[Node]) -> AbstractContextManager[Run]:
        """The recorded run of these nodes."""
        names = [n.name for n in nodes]
        start = RunStart("provision", "rack-12", "ada", self.state_dir, names, leased=names, interrupted=INTERRUPTED, hint=RESUME_HINT)
        return recorded_run(store, start)

    def context(self, store: Store, rundir: RunDir, nodes: Sequence[Node], options: ProvisionOptions) -> RunContext:
        pool = self.pool or LocalPool.create(store)
        admitter = Admitter(store, self.answering or Answering(pool), "ada", {})
        services = Services(
            store,
            pool,
            self.play,
            self.validate,
            self.burn_in,
            admitter,
            self.alone,
            self.neighbours,
            self.power_cycle,
            self.read_parts,
            read_traits(()),
        )
        request = ProvisionRequest("rack-12", options, saved_plan=self.saved_plan)
        due = due_of(store, self.lemon_limits, [n.name for n in nodes])
        candidates = {n.name: Candidate(n, tuple(self.level), (), due.get(n.name)) for n in nodes}
        return RunContext(services, request, rundir, candidates, self.progress.append, limits=self.limits, reconnect_s=self.reconnect_s)

    def confirm(self, plan: Plan) -> bool:
        self.plans.append(plan)
        return self.answer

    def validate(self, nodes: Sequence[Node]) -> list[NodeFindings]:
        self._call("validate", [n.name for n in nodes])
        return [self._findings(n) for n in nodes]

    def _findings(self, one: Node) -> NodeFindings:
        if one.name in self.lost:
            return NodeFindings(one.name, self.lost[one.name], "chosen by the test", (), 0.1)
        bad = self.bad.get(one.name, set())
        bad = bad | {role for role, rounds in self.again.items() if rounds >= 0} if one.name in self.bad else bad
        found = [finding(r, Outcome.FAIL if r in bad else Outcome.PASS, self.severity) for r in one.spec.roles]
        found += [Finding(f"{r}.file.persisted", r, Outcome.PASS, Severity.MAJOR) for r in one.spec.roles]
        if "kernel" in one.spec.roles:
            outcome = Outcome.FAIL if one.name in self.other_kernel else Outcome.PASS
            found.append(Finding("kernel.release.running", "kernel", outcome, Severity.CRITICAL))
        return NodeFindings(one.name, NodeStatus.OK, "", tuple(found), 0.1, boot_id=self.boot_id)

    def play(
        self,
        request: PlaybookRequest,
        artifacts: Path,
        on_event: Callable[[TaskEvent], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> PlaybookResult:
        what = request.playbook.removesuffix(".yml")
        self.requests.append(request)
        self._call(f"{what} {','.join(request.tags)}".strip(), request.nodes)
        hosts = {n: self._played(n, what, request.tags, on_event) for n in request.nodes}
        return PlaybookResult(PlaybookStatus.COMPLETED, hosts, f"ansible-playbook {request.playbook}", 0.1)

    def _played(self, name: str, what: str, roles: Sequence[str], on_event: Callable[[TaskEvent], None] | None) -> HostOutcome:
        if on_event:
            on_event(TaskEvent(name, roles[0] if roles else "", "Do it", TaskStatus.OK, changed=True))
        if what == "reboot":
            if name in self.no_return:
                return HostOutcome(name, HostStatus.FAILED, failures=(TaskFailure("Reboot and wait for SSH", "", "timed out"),))
            self.other_kernel.discard(name)
            return HostOutcome(name, HostStatus.OK, 1, 1)
        if name in self.ansible_lost:
            return HostOutcome(name, HostStatus.UNREACHABLE, failures=(TaskFailure("Write", "kernel", "Connection reset by peer"),))
        if name in self.role_fails:
            return HostOutcome(name, HostStatus.FAILED, 1, 0, (TaskFailure("Install", roles[0], "no such package"),))
        bad = self.bad.get(name, set())
        fixed = bad & set(roles) - self.incurable
        self.bad[name] = bad - fixed
        more = tuple(r for r in roles if self.again.get(r, 0) > 0)
        rounds = {r for r in roles if r in self.again}
        self.again.update({r: self.again[r] - 1 for r in rounds})
        kernel = {"kernel"} if "kernel" in roles and name in self.other_kernel else set()
        reboot = tuple(sorted((self.reboot & fixed) | rounds | kernel))
        return HostOutcome(name, HostStatus.OK, len(roles), len(fixed), (), reboot, (*more, *sorted(kernel - set(more))))

    def burn_in(
        self,
        nodes: Sequence[Node],
        partners: Sequence[Node],
        on_event: Callable[[TaskEvent], None],
    ) -> Sequence[GateResult]:
        self._call("burn_in", [n.name for n in nodes])
        if self.gates is not None:
            return self.gates(nodes)
        if self.pairs and len(nodes) + len(partners) == 1:
            return [GateResult(g, n.name, Outcome.COULD_NOT_RUN, "complete", detail="needs a second node") for n in nodes for g in GATES]
        return [self.gate(n.name, g) for n in nodes for g in self.level]

    def gate(self, name: str, gate: str) -> GateResult:
        bad = gate == "rdma_pair" and name in self.gate_fails
        return GateResult(
            gate,
            name,
            Outcome.FAIL if bad else Outcome.PASS,
            "floor",
            "bandwidth",
            ">= 360 Gb/s",
            "196 Gb/s" if bad else "390 Gb/s",
            device="mlx5_3" if bad else "",
            source="a published floor",
            detail="all its partners were fine with others" if bad else "",
            hint="reseat the cable of mlx5_3",
            simulated=True,
            boot_id=self.boot_id if gate == "dcgm_diag" else "",
        )

    def _call(self, what: str, names: Sequence[str]) -> None:
        self.calls.append((what, tuple(names)))
        self.before(what)
