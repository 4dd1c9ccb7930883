"""Points in time as the store writes them: UTC, ISO 8601, fixed width, so that text order is time order."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

FORMAT = "%Y-%m-%dT%H:%M:%S.%fZ"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECONDS = re.compile(r"[0-9]{1,17}")


def after(moment: str, seconds: float) -> str:
    """The moment `seconds` later (earlier if negative)."""
    return (datetime.strptime(moment, FORMAT).replace(tzinfo=UTC) + timedelta(seconds=seconds)).strftime(FORMAT)


def seconds_between(first: str, second: str) -> float:
    """How many seconds the second moment is later than the first; negative if it is earlier."""
    earlier, later = (datetime.strptime(moment, FORMAT).replace(tzinfo=UTC) for moment in (first, second))
    return (later - earlier).total_seconds()


def short(moment: str) -> str:
    """For people: `2026-03-14 09:30:12Z`; an empty string stays empty."""
    return f"{moment[:10]} {moment[11:19]}Z" if moment else ""


def in_utc(moment: str) -> str:
    """A point in time with its offset, as nodes and BMCs write it, in the format of the store.

    Raises:
        ValueError: it is none, or has no offset.
    """
    found = datetime.fromisoformat(moment)
    if found.tzinfo is None:
        raise ValueError(f"{moment!r} has no offset from UTC")
    return found.astimezone(UTC).strftime(FORMAT)


def of_microseconds(text: str) -> str:
    """A number of microseconds since 1970 in the format of the store; empty if it is none."""
    return (_EPOCH + timedelta(microseconds=int(text))).strftime(FORMAT) if _MICROSECONDS.fullmatch(text) else ""
