"""The lab node under test: change it, ask it, repair it, over the paths that `clusterctl` itself takes."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from clusterctl.adapters.ansible.runner import PlaybookRequest, run_playbook
from clusterctl.adapters.inventory.load import load_nodes
from clusterctl.adapters.validators import validate
from clusterctl.core.plan import roles_to_apply
from clusterctl.model.findings import NodeStatus
from clusterctl.model.playbook_result import HostStatus
from clusterctl.model.provision import ProvisionOptions
from clusterctl.model.task_event import TaskStatus
from clusterctl_validators.finding import GOOD
from support.lab_ssh import LabSsh

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.node import Node
    from clusterctl.model.playbook_result import HostOutcome
    from clusterctl.model.task_event import TaskEvent
    from clusterctl_validators.finding import Finding

_MOST_REBOOTS = 3
_CHECKS_ARGUMENTS = "validate_argument_spec"  # Ansible does this for every role of a play, whatever the tags


class BenchError(Exception):
    """The bench itself failed: no answer from the node, or a change that could not be made."""


@dataclass(frozen=True)
class Repair:
    """What a repair did.

    Attributes:
        planned: the roles that the plan of `provision` named.
        ran: the roles whose tasks Ansible reported.
        changed: those of them that changed something.
        problem: why a playbook failed; empty if none did.
    """

    planned: tuple[str, ...]
    ran: tuple[str, ...]
    changed: tuple[str, ...] = ()
    rebooted: bool = False
    problem: str = ""


def _of_roles(node: Node, roles: Sequence[str]) -> Node:
    """The node with only these roles; with all, if none is named."""
    chosen = {r: v for r, v in node.spec.roles.items() if r in roles}
    return replace(node, spec=replace(node.spec, roles=chosen)) if roles else node


def _role_of(event: TaskEvent) -> set[str]:
    """The role that a task belongs to; none for a task that did nothing of a role."""
    idle = event.status in (TaskStatus.STARTED, TaskStatus.SKIPPED) or event.action.endswith(_CHECKS_ARGUMENTS)
    return set() if idle or not event.role else {event.role}


@dataclass
class _Roles:
    """The roles that did something in a repair, and those that changed something."""

    ran: set[str] = field(default_factory=set)
    changed: set[str] = field(default_factory=set)

    def note(self, event: TaskEvent) -> None:
        """Look at one event."""
        self.ran |= _role_of(event)
        if event.changed:
            self.changed |= _role_of(event)


@dataclass
class Bench:
    """One provisioned lab node. `target` names it and others, which are only asked, for what all of them must say together."""

    layers: tuple[Path, ...]
    state_dir: Path
    name: str
    artifacts: Path
    target: str = ""
    node: Node = field(init=False)
    others: tuple[Node, ...] = field(init=False)
    ssh: LabSsh = field(init=False)
    playbooks: int = 0

    def __post_init__(self) -> None:
        nodes = {n.name: n for n in load_nodes(self.layers, self.target or self.name)}
        self.node = nodes.pop(self.name)
        self.others = tuple(nodes.values())
        self.ssh = LabSsh(self.state_dir)

    def run(self, script: str, where: str = "node") -> str:
        """Run a script on the node as root, or on the BMC's file; what it said if it failed, else nothing."""
        if where == "bmc":
            file = self.ssh.paths.node_dir(self.name) / "bmc.json"
            words = ["env", f"bmc={file}", "bash", "-c", script]
            done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
        else:
            done = self.ssh.run(self.name, script)
        return "" if done.returncode == 0 else f"exit {done.returncode}: {done.stderr.strip() or done.stdout.strip()}"

    def findings(self, roles: Sequence[str] = ()) -> tuple[Finding, ...]:
        """What the validators say of the node, of some roles or of all.

        Raises:
            BenchError: the node did not answer.
        """
        return self._ask(roles).findings

    def bad(self, roles: Sequence[str] = ()) -> dict[str, Finding]:
        """The findings that are not as declared."""
        return {f.check: f for f in self.findings(roles) if f.outcome not in GOOD}

    def repair(self) -> Repair:
        """As `provision` does it: plan from the findings, run the roles of the plan, reboot where they ask for it."""
        roles = roles_to_apply(self.node, self._ask(()), ProvisionOptions())
        if not roles:
            return Repair((), (), problem="the plan names no role")
        seen = _Roles()
        rebooted = False
        host = self._play("provision", roles, seen)
        for _ in range(_MOST_REBOOTS):
            if host.status is not HostStatus.OK or not host.reboot_required:
                break
            rebooted = True
            back = self._play("reboot", (), _Roles())
            if back.status is not HostStatus.OK or not host.apply_again:
                host = replace(back, reboot_required=())
                break
            host = self._play("provision", host.apply_again, seen)
        problem = (
            "" if host.status is HostStatus.OK else "; ".join(f"{f.role}: {f.task}: {f.message}" for f in host.failures) or host.status
        )
        ran, changed = (tuple(r for r in self.node.spec.roles if r in part) for part in (seen.ran, seen.changed))
        return Repair(roles, ran, changed, rebooted, problem)

    def again(self) -> tuple[str, ...]:
        """Run all roles on the node as it is; those that changed something, which a second run must not.

        Raises:
            BenchError: the playbook failed.
        """
        seen = _Roles()
        host = self._play("provision", tuple(self.node.spec.roles), seen)
        if host.status is not HostStatus.OK:
            message = f"{self.name}: the second run failed: {host.failures}"
            raise BenchError(message)
        return tuple(r for r in self.node.spec.roles if r in seen.changed)

    def _ask(self, roles: Sequence[str]) -> NodeFindings:
        asked = [_of_roles(n, roles) for n in (self.node, *self.others)]
        found = next(f for f in validate(asked, self.state_dir, inventory=self.layers) if f.node == self.name)
        if found.status is not NodeStatus.OK:
            message = f"{self.name}: {found.status}: {found.detail}"
            raise BenchError(message)
        return found

    def _play(self, playbook: str, roles: tuple[str, ...], seen: _Roles) -> HostOutcome:
        self.playbooks += 1
        request = PlaybookRequest(f"{playbook}.yml", self.layers, (self.name,), tags=roles, extra_args=("-e", "provision_out_of_pool=true"))
        artifacts = self.artifacts / f"{self.playbooks:02d}-{playbook}"
        outcome = run_playbook(request, artifacts, seen.note)
        return outcome.hosts[self.name]
