"""The lab node under test: changes, validates and repairs it in the same way as `clusterctl`."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from clusterctl.adapters.ansible.runner import PlaybookRequest, run_playbook
from clusterctl.adapters.inventory.load import load_nodes
from clusterctl.adapters.on_node.archive import MIN_PYTHON
from clusterctl.adapters.validator_declarations import read_traits
from clusterctl.adapters.validators import validate
from clusterctl.core.plan import roles_to_apply
from clusterctl.core.where_ansible_runs import apply_parts, node_problem
from clusterctl.model.findings import NodeStatus
from clusterctl.model.playbook_result import HostStatus
from clusterctl.model.provision import ProvisionOptions
from clusterctl.model.task_event import TaskStatus
from clusterctl.workflows.provision.apply_on_nodes import OUT_OF_POOL_VARIABLE, ApplyOnNodes
from clusterctl.workflows.provision.run_roles import RolesRun
from clusterctl_validators.finding import GOOD
from support.lab_ssh import LabSsh

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from clusterctl.core.where_ansible_runs import ApplyPart
    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.node import Node
    from clusterctl.model.playbook_result import HostOutcome, PlaybookResult
    from clusterctl.model.task_event import TaskEvent
    from clusterctl_validators.finding import Finding

_MAX_REBOOTS = 3
_ARGUMENT_CHECK = "validate_argument_spec"  # Ansible runs this for every role of a play, regardless of tags.


class NodeUnderTestError(Exception):
    """The test itself failed: the node did not answer, or a playbook failed."""


@dataclass(frozen=True)
class Repair:
    """The result of a repair.

    Attributes:
        planned: roles in the plan of `provision`.
        ran: roles whose tasks ran.
        changed: roles that made changes.
        problem: why a playbook failed; empty if none did.
    """

    planned: tuple[str, ...]
    ran: tuple[str, ...]
    changed: tuple[str, ...] = ()
    rebooted: bool = False
    problem: str = ""


def _with_roles(node: Node, roles: Sequence[str]) -> Node:
    """The node with these roles only, or with all if none is given."""
    selected = {r: v for r, v in node.spec.roles.items() if r in roles}
    return replace(node, spec=replace(node.spec, roles=selected)) if roles else node


def _role_of(event: TaskEvent) -> set[str]:
    """The role of a task; empty if the task did not run or belongs to no role."""
    idle = event.status in (TaskStatus.STARTED, TaskStatus.SKIPPED) or event.action.endswith(_ARGUMENT_CHECK)
    return set() if idle or not event.role else {event.role}


@dataclass
class _SeenRoles:
    """The roles that ran in a repair, and those that made changes."""

    ran: set[str] = field(default_factory=set)
    changed: set[str] = field(default_factory=set)

    def note(self, event: TaskEvent) -> None:
        """Record the role of one event."""
        self.ran |= _role_of(event)
        if event.changed:
            self.changed |= _role_of(event)


@dataclass
class NodeUnderTest:
    """One provisioned lab node.

    Attributes:
        name: the node whose settings are changed.
        target: pattern of the node and others that are validated with it, for checks that need all of them; empty for the node alone.
    """

    layers: tuple[Path, ...]
    state_dir: Path
    name: str
    artifacts: Path
    target: str = ""
    declared: Node = field(init=False)
    others: tuple[Node, ...] = field(init=False)
    ssh: LabSsh = field(init=False)
    playbooks: int = 0

    def __post_init__(self) -> None:
        nodes = {n.name: n for n in load_nodes(self.layers, self.target or self.name)}
        self.declared = nodes.pop(self.name)
        self.others = tuple(nodes.values())
        self.ssh = LabSsh(self.state_dir)

    def run(self, script: str, where: str = "node") -> str:
        """Run a script on the node as root, or on the file of its BMC. Returns the error output if it failed, otherwise an empty text."""
        if where == "bmc":
            file = self.ssh.paths.node_dir(self.name) / "bmc.json"
            words = ["env", f"bmc={file}", "bash", "-c", script]
            done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
        else:
            done = self.ssh.run(self.name, script)
        return "" if done.returncode == 0 else f"exit {done.returncode}: {done.stderr.strip() or done.stdout.strip()}"

    def findings(self, roles: Sequence[str] = ()) -> tuple[Finding, ...]:
        """The findings of the validators of some roles, or of all.

        Raises:
            NodeUnderTestError: the node did not answer.
        """
        return self._validate(roles).findings

    def bad(self, roles: Sequence[str] = ()) -> dict[str, Finding]:
        """The findings that differ from the declared state, by check."""
        return {f.check: f for f in self.findings(roles) if f.outcome not in GOOD}

    def repair(self) -> Repair:
        """Repair the node like `provision`: plan from the findings, apply the planned roles, reboot if they require it."""
        found = self._validate(())
        roles = roles_to_apply(self.declared, found, ProvisionOptions(), read_traits(()))
        if not roles:
            return Repair((), (), problem="the plan has no role")
        seen = _SeenRoles()
        rebooted = False
        host = self._apply(roles, found.python, seen)
        for _ in range(_MAX_REBOOTS):
            if host.status is not HostStatus.OK or not host.reboot_required:
                break
            rebooted = True
            reboot = self._reboot()
            if reboot.status is not HostStatus.OK or not host.apply_again:
                host = replace(reboot, reboot_required=())
                break
            host = self._apply(host.apply_again, found.python, seen)
        problem = (
            "" if host.status is HostStatus.OK else "; ".join(f"{f.role}: {f.task}: {f.message}" for f in host.failures) or host.status
        )
        ran, changed = (tuple(r for r in self.declared.spec.roles if r in part) for part in (seen.ran, seen.changed))
        return Repair(roles, ran, changed, rebooted, problem)

    def again(self) -> tuple[str, ...]:
        """Apply all roles a second time. Returns the roles that made changes, which they must not.

        Raises:
            NodeUnderTestError: the playbook failed.
        """
        seen = _SeenRoles()
        host = self._apply(tuple(self.declared.spec.roles), self._validate(()).python, seen)
        if host.status is not HostStatus.OK:
            message = f"{self.name}: the second run failed: {host.failures}"
            raise NodeUnderTestError(message)
        return tuple(r for r in self.declared.spec.roles if r in seen.changed)

    def _validate(self, roles: Sequence[str]) -> NodeFindings:
        nodes = [_with_roles(n, roles) for n in (self.declared, *self.others)]
        found = next(f for f in validate(nodes, self.state_dir, inventory=self.layers) if f.node == self.name)
        if found.status is not NodeStatus.OK:
            message = f"{self.name}: {found.status}: {found.detail}"
            raise NodeUnderTestError(message)
        return found

    def _apply(self, roles: tuple[str, ...], python: str, seen: _SeenRoles) -> HostOutcome:
        """Apply roles where `provision` applies them: on the node, and from the controller those that work from there."""
        service = ApplyOnNodes(self.state_dir, "mutation test", self.layers)
        problem = node_problem(self.declared, python, MIN_PYTHON)
        if problem:
            message = f"{self.name} cannot run Ansible itself: {problem}"
            raise NodeUnderTestError(message)
        run = RolesRun()
        for part in apply_parts(roles, service.order, service.from_controller(roles, self.declared)):
            if run.going_on([self.name]):
                run.add(self._part(service, part, seen))
        return run.hosts[self.name]

    def _part(self, service: ApplyOnNodes, part: ApplyPart, seen: _SeenRoles) -> PlaybookResult:
        request, artifacts = self._request("provision", part.roles)
        if not part.on_node:
            return run_playbook(request, artifacts, seen.note)
        result, unsuited = service.play(request, [self.declared], artifacts, seen.note, lambda: False)
        if unsuited:
            message = f"{self.name}: its roles did not run on it: {unsuited[self.name]}"
            raise NodeUnderTestError(message)
        return result

    def _reboot(self) -> HostOutcome:
        return run_playbook(*self._request("reboot", ())).hosts[self.name]

    def _request(self, playbook: str, roles: tuple[str, ...]) -> tuple[PlaybookRequest, Path]:
        self.playbooks += 1
        request = PlaybookRequest(f"{playbook}.yml", self.layers, (self.name,), tags=roles, extra_args=("-e", OUT_OF_POOL_VARIABLE))
        return request, self.artifacts / f"{self.playbooks:02d}-{playbook}"
