"""What became of a playbook run, per node: decided from events and the recap, never from the exit status. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from clusterctl.events import TaskStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from clusterctl.events import HostStats, TaskEvent


class HostStatus(StrEnum):
    """What became of a node; only OK lets it go on."""

    OK = "ok"
    FAILED = "failed"
    UNREACHABLE = "unreachable"
    NOT_PROCESSED = "not_processed"


class RunStatus(StrEnum):
    """What became of the run as a whole."""

    COMPLETED = "completed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    COULD_NOT_START = "could_not_start"


@dataclass(frozen=True, slots=True)
class TaskFailure:
    """A task that failed on a node (and was neither ignored nor rescued)."""

    task: str
    role: str
    message: str


@dataclass(frozen=True, slots=True)
class HostOutcome:
    """What became of one node.

    Attributes:
        ok, changed: numbers of tasks.
        reboot_required: roles that set `<role>_reboot_required`.
        apply_again: roles that set `<role>_apply_again`: they must run once more after the reboot.
    """

    node: str
    status: HostStatus
    ok: int = 0
    changed: int = 0
    failures: tuple[TaskFailure, ...] = ()
    reboot_required: tuple[str, ...] = ()
    apply_again: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """What became of a playbook run.

    Attributes:
        hosts: one entry for each node that was asked for, whatever happened.
        command_line: the equivalent `ansible-playbook` line, for people.
        detail: why it did not complete; empty otherwise.
    """

    status: RunStatus
    hosts: Mapping[str, HostOutcome]
    command_line: str
    duration_s: float
    detail: str = ""

    @property
    def changed(self) -> int:
        """Changed tasks over all nodes."""
        return sum(h.changed for h in self.hosts.values())


@dataclass(slots=True)
class Tally:
    """Counts task events as they come; `outcomes` is the verdict once the run is over."""

    ok: dict[str, int] = field(default_factory=dict)
    changed: dict[str, int] = field(default_factory=dict)
    failures: dict[str, list[TaskFailure]] = field(default_factory=dict)
    unreachable: dict[str, TaskFailure] = field(default_factory=dict)
    reboot: dict[str, dict[str, bool]] = field(default_factory=dict)
    again: dict[str, dict[str, bool]] = field(default_factory=dict)
    stats: Mapping[str, HostStats] | None = None

    def add(self, event: TaskEvent) -> None:
        """Count one event."""
        self.reboot.setdefault(event.node, {}).update(event.reboot)
        self.again.setdefault(event.node, {}).update(event.again)
        if event.status is TaskStatus.OK:
            self.ok[event.node] = self.ok.get(event.node, 0) + 1
            self.changed[event.node] = self.changed.get(event.node, 0) + int(event.changed)
        elif event.status is TaskStatus.FAILED and not event.ignored:
            self.failures.setdefault(event.node, []).append(TaskFailure(event.task, event.role, event.message))
        elif event.status is TaskStatus.UNREACHABLE:
            self.unreachable[event.node] = TaskFailure(event.task, event.role, event.message)

    def outcomes(self, expected: Iterable[str]) -> dict[str, HostOutcome]:
        """One outcome per expected node: a node the recap does not name was not processed, which is a failure."""
        return {name: self._outcome(name) for name in expected}

    def _outcome(self, name: str) -> HostOutcome:
        reboot = tuple(sorted(role for role, asked in self.reboot.get(name, {}).items() if asked))
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
        again = tuple(sorted(role for role, asked in self.again.get(name, {}).items() if asked))
        return HostOutcome(name, HostStatus.OK, recap.ok, recap.changed, (), reboot, again)
