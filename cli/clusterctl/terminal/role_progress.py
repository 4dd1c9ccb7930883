"""How far the roles of a step are, counted over all nodes from task events. Pure: the time comes in from outside."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clusterctl.model.running_text import counted, duration_text
from clusterctl.model.task_event import TaskStatus

if TYPE_CHECKING:
    from clusterctl.model.task_event import TaskEvent

_NO_WORK = frozenset({TaskStatus.STARTED, TaskStatus.SKIPPED, TaskStatus.RETRY})
# Ansible checks the arguments of every role of a playbook, whatever `--tags` selects.
_ALWAYS_RUNS = "ansible.builtin.validate_argument_spec"
_FAILURES = frozenset({TaskStatus.FAILED, TaskStatus.UNREACHABLE})


@dataclass(slots=True)
class NodePart:
    """One node's part in a role. A task whose failure is not ignored counts as a failure, even if a rescue block handles it."""

    worked: bool = False
    changed: bool = False
    failed: bool = False
    left: bool = False


@dataclass(slots=True)
class RoleProgress:
    """One role over its nodes.

    Attributes:
        role: empty for the tasks of the playbook itself.
        started_s: when its first task began, on the clock of the caller.
        task: the task seen last.
    """

    role: str
    started_s: float
    task: str = ""
    parts: dict[str, NodePart] = field(default_factory=dict)

    @property
    def ended(self) -> bool:
        """Whether no node is at work in it."""
        return all(p.left or p.failed for p in self.parts.values())

    def counts(self, now_s: float) -> str:
        """`kernel on 6 nodes: 5 done, 4 changed, 1 failed, 12 s`; nodes on which every task was skipped are not counted."""
        parts = [p for p in self.parts.values() if p.worked or not p.left]
        numbers = {
            "done": sum(p.left and not p.failed for p in parts),
            "changed": sum(p.changed for p in parts),
            "failed": sum(p.failed for p in parts),
        }
        words = [f"{number} {what}" for what, number in numbers.items() if number]
        name = f"{self.role} on " if self.role else ""
        return f"{name}{counted(len(parts), 'node')}: {', '.join([*words, duration_text(now_s - self.started_s)])}"

    def add(self, event: TaskEvent) -> None:
        """Count one event."""
        part = self.parts.setdefault(event.node, NodePart())
        part.left = False
        part.failed |= event.status in _FAILURES and not event.ignored
        part.worked |= event.status not in _NO_WORK and event.action != _ALWAYS_RUNS
        part.changed |= event.changed
        self.task = event.task or self.task


@dataclass(slots=True)
class StepProgress:
    """The roles of one step. A node has left a role when its next task belongs to another one.

    Attributes:
        planned: the roles that the step applies; what Ansible runs of others (checks of arguments) is not shown. Empty = any.
    """

    planned: frozenset[str] = frozenset()
    running: dict[str, RoleProgress] = field(default_factory=dict)
    reported: dict[str, set[str]] = field(default_factory=dict)

    def add(self, event: TaskEvent, now_s: float) -> list[RoleProgress]:
        """Count one event; returns the roles that ended by it and are worth a line."""
        if self.planned and event.role and event.role not in self.planned:
            return []
        for role, progress in self.running.items():
            if role != event.role and event.node in progress.parts:
                progress.parts[event.node].left = True
        current = self.running.setdefault(event.role, RoleProgress(event.role, now_s))
        current.add(event)
        return self._take([p for p in self.running.values() if p is not current and p.ended])

    def end(self) -> list[RoleProgress]:
        """The step is over: the roles that were still running and are worth a line."""
        for progress in self.running.values():
            for part in progress.parts.values():
                part.left = True
        return self._take(list(self.running.values()))

    @property
    def current(self) -> RoleProgress | None:
        """The role that most nodes are at work in."""
        return max(self.running.values(), key=lambda p: sum(not (x.left or x.failed) for x in p.parts.values()), default=None)

    def _take(self, ended: list[RoleProgress]) -> list[RoleProgress]:
        found = []
        for progress in ended:
            del self.running[progress.role]
            known = self.reported.setdefault(progress.role, set())
            worked = {n for n, p in progress.parts.items() if p.worked}
            # Handlers bring a role back at the end of its play: worth a line only where they changed something.
            fresh = worked - known or any(p.changed or p.failed for p in progress.parts.values())
            known |= worked
            if progress.role and worked and fresh:
                found.append(progress)
        return found
