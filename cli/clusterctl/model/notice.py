"""Notices of planned maintenance: what was announced, and what stands now."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class NoticeState(StrEnum):
    """What the newest change of a notice was."""

    PLANNED = "planned"
    MOVED = "moved"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Period:
    """From `begins_at` on, until just before `ends_at`. Times are UTC, ISO 8601."""

    begins_at: str
    ends_at: str

    def overlaps(self, other: Period) -> bool:
        """Whether both have a moment in common; one that begins when the other ends has none."""
        return self.begins_at < other.ends_at and other.begins_at < self.ends_at


@dataclass(frozen=True, slots=True)
class MaintenanceNotice:
    """A notice as one change left it.

    Attributes:
        id: names the notice through all of its changes.
        change: counts the changes of all notices.
        at: when it was changed.
        target: as typed.
        nodes: what the target selected then, by name.
        reason: of the work; of a cancelled one, why it is cancelled.
        operator: who changed it.
    """

    id: int
    change: int
    state: NoticeState
    at: str
    target: str
    nodes: tuple[str, ...]
    period: Period
    reason: str
    operator: str
