"""`plan --ansible`: what Ansible's check mode would change, from its events."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from clusterctl.model.exit_codes import ExitCode, worst
from clusterctl.model.playbook_result import HostStatus, PlaybookStatus
from clusterctl.model.task_event import TaskStatus

if TYPE_CHECKING:
    from clusterctl.model.playbook_result import HostOutcome, PlaybookResult
    from clusterctl.model.task_event import TaskEvent

_CODES = {
    HostStatus.OK: ExitCode.OK,
    HostStatus.FAILED: ExitCode.ROLE_FAILED,
    HostStatus.UNREACHABLE: ExitCode.UNREACHABLE,
    HostStatus.NOT_PROCESSED: ExitCode.ROLE_FAILED,
}


@dataclass(frozen=True, slots=True)
class TaskChange:
    """A task that would change a node; `diff` may be empty."""

    node: str
    role: str
    task: str
    diff: str


@dataclass(slots=True)
class CheckMode:
    """Collects what would change while the playbook runs."""

    changes: list[TaskChange] = field(default_factory=list)

    def add(self, event: TaskEvent) -> None:
        """Record a task that would change something."""
        if event.status is TaskStatus.OK and event.changed:
            self.changes.append(TaskChange(event.node, event.role, event.task, event.diff))

    def add_hidden(self, outcome: PlaybookResult) -> None:
        """Record what only the recap counts: the events of tasks with no_log do not show whether they changed something."""
        for host in outcome.hosts.values():
            hidden = host.changed - sum(c.node == host.node for c in self.changes)
            if hidden > 0:
                self.changes.append(TaskChange(host.node, "", f"{hidden} {'task' if hidden == 1 else 'tasks'} with no_log", ""))

    @property
    def summary(self) -> str:
        """The last line."""
        nodes, roles = {c.node for c in self.changes}, {c.role for c in self.changes if c.role}
        many = ["node" if len(nodes) == 1 else "nodes", "role" if len(roles) == 1 else "roles"]
        return f"Plan: {len(nodes)} {many[0]}, {len(roles)} {many[1]} to change."


def check_mode_exit_code(found: CheckMode, outcome: PlaybookResult) -> ExitCode:
    """8 changes pending, 4 unreachable, 5 a role fails already in check mode, 9 not completed."""
    codes = [_CODES[h.status] for h in outcome.hosts.values()]
    if outcome.status in (PlaybookStatus.TIMED_OUT, PlaybookStatus.CANCELLED, PlaybookStatus.KILLED):
        codes.append(ExitCode.INTERRUPTED)
    elif outcome.status is PlaybookStatus.COULD_NOT_START:
        codes.append(ExitCode.CONFIG)
    return worst([*codes, ExitCode.CHANGES_PENDING] if found.changes else codes)


def check_mode_body(found: CheckMode, outcome: PlaybookResult) -> dict[str, Any]:
    """Plain JSON values."""
    return {
        "command_line": outcome.command_line,
        "status": outcome.status.value,
        "detail": outcome.detail,
        "nodes": [_host(h, [c for c in found.changes if c.node == h.node]) for h in outcome.hosts.values()],
    }


def _host(host: HostOutcome, changes: list[TaskChange]) -> dict[str, Any]:
    return {
        "name": host.node,
        "status": host.status.value,
        "changes": [{"role": c.role, "task": c.task, "diff": c.diff} for c in changes],
        "failures": [{"role": f.role, "task": f.task, "message": f.message} for f in host.failures],
    }
