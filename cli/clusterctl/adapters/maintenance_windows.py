"""Reads `maintenance_windows` of clusterctl.yml."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time, tzinfo
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from clusterctl.core.maintenance_windows import DatedWindow, MaintenanceWindows, WeeklyWindow

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from clusterctl.model.errors import ConfigError

_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_KEYS = {"days", "from", "to", "time_zone"}
_HINT = 'write - {days: [tue, thu], from: "02:00", to: "06:00", time_zone: Europe/Berlin}, or from and to as "2026-12-27 08:00"; times in quotes'


@dataclass(frozen=True, slots=True)
class _Entry:
    """One window as written; `invalid` makes the error for one of its keys."""

    data: Mapping[object, object]
    invalid: Callable[[str, str], ConfigError]

    def window(self) -> WeeklyWindow | DatedWindow:
        zone = self._zone()
        begins, ends = self._time("from"), self._time("to")
        if isinstance(begins, time) and isinstance(ends, time):
            return WeeklyWindow(self._days(), begins, ends, zone)
        if isinstance(begins, time) or isinstance(ends, time):
            raise self.invalid("to", "`from` and `to` must both be times of day, or both have a date")
        if "days" in self.data:
            raise self.invalid("days", "a window with dates has no days of the week")
        first, last = (d if d.tzinfo else d.replace(tzinfo=zone) for d in (begins, ends))
        if last.astimezone(UTC) <= first.astimezone(UTC):
            raise self.invalid("to", f"{last:%Y-%m-%d %H:%M} is not after {first:%Y-%m-%d %H:%M}")
        return DatedWindow(first, last)

    def _zone(self) -> tzinfo:
        name = self.data.get("time_zone", "UTC")
        try:
            return ZoneInfo(name if isinstance(name, str) else "")
        except (ZoneInfoNotFoundError, ValueError, OSError) as e:
            raise self.invalid("time_zone", f"{name!r} is not a time zone of this machine (package tzdata)") from e

    def _days(self) -> frozenset[int]:
        days = self.data.get("days", list(_DAYS))
        if not isinstance(days, list) or not days or any(d not in _DAYS for d in days):
            raise self.invalid("days", f"{days!r} is not a list of days ({', '.join(_DAYS)})")
        return frozenset(_DAYS.index(d) for d in days)

    def _time(self, key: str) -> time | datetime:
        value = self.data.get(key)
        if isinstance(value, datetime):  # YAML reads a full date with time itself
            return value
        for read in (time.fromisoformat, datetime.fromisoformat):
            try:
                found = read(value if isinstance(value, str) else "")
            except ValueError:
                continue
            if isinstance(found, datetime) or not found.tzinfo:
                return found
        raise self.invalid(key, f"{value!r} is neither a time of day nor a date with time")


def read_windows(value: object, invalid: Callable[[str, str, str], ConfigError]) -> MaintenanceWindows:
    """The windows; `invalid` makes the error from a path in the file, what is wrong there, and a hint.

    Raises:
        ConfigError: one is declared wrongly.
    """
    path = "maintenance_windows"
    if not isinstance(value, list):
        raise invalid(path, "is not a list of windows", _HINT)
    windows = []
    for i, data in enumerate(value):
        unknown = sorted(str(k) for k in data if k not in _KEYS) if isinstance(data, dict) else []
        if unknown or not isinstance(data, dict):
            raise invalid(path, f"{unknown[0]}: unknown key" if unknown else f"window {i + 1} is not a mapping", _HINT)

        def wrong(key: str, message: str, number: int = i + 1) -> ConfigError:
            return invalid(path, f"window {number}: {key}: {message}", _HINT)

        windows.append(_Entry(data, wrong).window())
    return MaintenanceWindows(tuple(windows))
