"""The result of a playbook run, per node."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class HostStatus(StrEnum):
    """The outcome on a node; only OK lets it continue."""

    OK = "ok"
    FAILED = "failed"
    UNREACHABLE = "unreachable"
    NOT_PROCESSED = "not_processed"


class PlaybookStatus(StrEnum):
    """The outcome of the run as a whole. KILLED: a signal ended Ansible, before its recap."""

    COMPLETED = "completed"
    KILLED = "killed"
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
    """The outcome on one node.

    Attributes:
        ok, changed: numbers of tasks.
        reboot_required: roles that set `<role>_reboot_required`.
        apply_again: roles that set `<role>_apply_again`: what they stored is to be read back after the reboot.
        waiting: settings that roles found stored and not in force before they changed anything (`<role>_settings_waiting`): after a reset, those
            that it did not bring.
    """

    node: str
    status: HostStatus
    ok: int = 0
    changed: int = 0
    failures: tuple[TaskFailure, ...] = ()
    reboot_required: tuple[str, ...] = ()
    apply_again: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlaybookResult:
    """The result of a playbook run.

    Attributes:
        hosts: one entry for each requested node, whatever happened.
        command_line: the equivalent `ansible-playbook` command, for people.
        detail: why it did not complete; empty otherwise.
    """

    status: PlaybookStatus
    hosts: Mapping[str, HostOutcome]
    command_line: str
    duration_s: float
    detail: str = ""

    @property
    def changed(self) -> int:
        """Changed tasks over all nodes."""
        return sum(h.changed for h in self.hosts.values())
