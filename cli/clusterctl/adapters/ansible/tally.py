"""Counts task events per node and derives the outcome of each node from them and the recap, never from the exit status."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clusterctl.model.playbook_result import HostOutcome, HostStatus, TaskFailure
from clusterctl.model.task_event import HostStats, TaskEvent, TaskStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(slots=True)
class Tally:
    """Counts task events as they arrive; `outcomes` is valid at the end of the run."""

    ok: dict[str, int] = field(default_factory=dict)
    changed: dict[str, int] = field(default_factory=dict)
    failures: dict[str, list[TaskFailure]] = field(default_factory=dict)
    unreachable: dict[str, TaskFailure] = field(default_factory=dict)
    reboot: dict[str, dict[str, bool]] = field(default_factory=dict)
    again: dict[str, dict[str, bool]] = field(default_factory=dict)
    waiting: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    stats: Mapping[str, HostStats] | None = None

    def add(self, event: TaskEvent) -> None:
        """Count one event."""
        self.reboot.setdefault(event.node, {}).update(event.reboot)
        self.again.setdefault(event.node, {}).update(event.again)
        self.waiting.setdefault(event.node, {}).update(event.waiting)
        if event.status is TaskStatus.OK:
            self.ok[event.node] = self.ok.get(event.node, 0) + 1
            self.changed[event.node] = self.changed.get(event.node, 0) + int(event.changed)
        elif event.status is TaskStatus.FAILED and not event.ignored:
            self.failures.setdefault(event.node, []).append(TaskFailure(event.task, event.role, event.message))
        elif event.status is TaskStatus.UNREACHABLE:
            self.unreachable[event.node] = TaskFailure(event.task, event.role, event.message)

    def outcomes(self, expected: Iterable[str]) -> dict[str, HostOutcome]:
        """The outcome of each expected node; a node that the recap does not list was not processed, which is a failure."""
        return {name: self._outcome(name) for name in expected}

    def _outcome(self, name: str) -> HostOutcome:
        reboot = tuple(sorted(role for role, required in self.reboot.get(name, {}).items() if required))
        failures = tuple(self.failures.get(name, ()))
        lost = self.unreachable.get(name)
        ok, changed = self.ok.get(name, 0), self.changed.get(name, 0)
        recap = None if self.stats is None else self.stats.get(name)
        if recap is None:
            seen = (*failures, lost) if lost else failures
            return HostOutcome(name, HostStatus.NOT_PROCESSED, ok, changed, seen, reboot)
        if recap.unreachable:
            return HostOutcome(name, HostStatus.UNREACHABLE, ok, recap.changed, (lost,) if lost else (), reboot)
        if recap.failures:
            return HostOutcome(name, HostStatus.FAILED, recap.ok, recap.changed, failures, reboot)
        again = tuple(sorted(role for role, required in self.again.get(name, {}).items() if required))
        waiting = tuple(text for _, texts in sorted(self.waiting.get(name, {}).items()) for text in texts)
        return HostOutcome(name, HostStatus.OK, recap.ok, recap.changed, (), reboot, again, waiting)
