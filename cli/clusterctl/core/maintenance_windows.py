"""Maintenance windows: when planned work may take nodes out of the pool. Faulty nodes go at any time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo

# yesterday's window may end today; every weekly window opens within a week
_DAYS = range(-1, 9)


@dataclass(frozen=True, slots=True)
class WeeklyWindow:
    """Open on these days of the week.

    Attributes:
        days: 0 is Monday.
        ends: on the next day, unless it is later than `begins`.
    """

    days: frozenset[int]
    begins: time
    ends: time
    zone: tzinfo

    def periods(self, now: datetime) -> Iterator[tuple[datetime, datetime]]:
        """When it is open, from yesterday on, in order."""
        today = now.astimezone(self.zone).date()
        for day in (today + timedelta(days=n) for n in _DAYS):
            if day.weekday() in self.days:
                last = day if self.ends > self.begins else day + timedelta(days=1)
                yield datetime.combine(day, self.begins, self.zone), datetime.combine(last, self.ends, self.zone)


@dataclass(frozen=True, slots=True)
class DatedWindow:
    """Open once; both times have a time zone."""

    begins: datetime
    ends: datetime

    def periods(self, _now: datetime) -> Iterator[tuple[datetime, datetime]]:
        """When it is open."""
        yield self.begins, self.ends


@dataclass(frozen=True, slots=True)
class MaintenanceWindows:
    """All windows of a site. Without any, planned work may start at any time."""

    windows: tuple[WeeklyWindow | DatedWindow, ...] = ()

    def is_open(self, now: datetime) -> bool:
        """Whether planned work may start."""
        # in UTC: Python compares times of one zone by the clock on the wall, which repeats an hour in autumn
        return not self.windows or any(b.astimezone(UTC) <= now < e.astimezone(UTC) for b, e in self._periods(now))

    def next_opening(self, now: datetime) -> datetime | None:
        """When the next window opens, in its own time zone; None = never again."""
        ahead = (begins for begins, _ in self._periods(now) if begins.astimezone(UTC) > now)
        return min(ahead, key=lambda begins: begins.astimezone(UTC), default=None)

    def next_text(self, now: datetime) -> str:
        """`the next maintenance window opens Tue 2026-11-24 02:00 (Europe/Berlin)`."""
        begins = self.next_opening(now)
        if begins is None:
            return "no maintenance window is left: add one to clusterctl.yml"
        return f"the next maintenance window opens {begins:%a %Y-%m-%d %H:%M} ({begins.tzinfo})"

    def _periods(self, now: datetime) -> Iterator[tuple[datetime, datetime]]:
        return (period for window in self.windows for period in window.periods(now))
