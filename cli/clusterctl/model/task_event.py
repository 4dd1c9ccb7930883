"""What Ansible reports of one task on one node."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class TaskStatus(StrEnum):
    """What became of a task on a node."""

    STARTED = "started"
    OK = "ok"
    FAILED = "failed"
    SKIPPED = "skipped"
    UNREACHABLE = "unreachable"
    RETRY = "retry"


@dataclass(frozen=True, slots=True)
class TaskEvent:
    """One task on one node.

    Attributes:
        role: empty for a task of the playbook itself.
        action: the module (`ansible.builtin.command`).
        changed: it changed the node, or would in check mode.
        ignored: it failed and the play goes on (`ignore_errors`).
        diff: unified diff, empty without `--diff`.
        message: why it failed, for people; empty otherwise.
        reboot: role -> whether it requested a reboot, from `<role>_reboot_required` facts set by this task.
        again: role -> whether what it stored is to be read back after that reboot, from `<role>_apply_again` facts.
        waiting: role -> settings that it found stored and not in force, from `<role>_settings_waiting` facts.
    """

    node: str
    role: str
    task: str
    status: TaskStatus
    action: str = ""
    changed: bool = False
    ignored: bool = False
    diff: str = ""
    message: str = ""
    duration_s: float = 0.0
    reboot: Mapping[str, bool] = field(default_factory=dict)
    again: Mapping[str, bool] = field(default_factory=dict)
    waiting: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HostStats:
    """Ansible's own count for a node, from the recap."""

    ok: int = 0
    changed: int = 0
    failures: int = 0
    unreachable: int = 0
