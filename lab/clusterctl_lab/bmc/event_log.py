"""The event log of a BMC: what was done to its node by Redfish."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_MOST = 512


@dataclass(frozen=True, slots=True)
class Event:
    """One entry; `at` is in seconds since the epoch."""

    id: int
    at: float
    message: str


def load_events(file: Path) -> tuple[Event, ...]:
    """All entries, oldest first; none if the file does not exist."""
    return tuple(Event(**row) for row in json.loads(file.read_text(encoding="utf-8"))) if file.exists() else ()


def add_event(file: Path, at: float, message: str) -> None:
    """Add an entry; the oldest is dropped from a full log."""
    before = load_events(file)
    events = [*before, Event(before[-1].id + 1 if before else 1, at, message)][-_MOST:]
    temporary = file.with_suffix(".new")
    temporary.write_text(json.dumps([asdict(e) for e in events]), encoding="utf-8")
    os.replace(temporary, file)  # noqa: PTH105 the atomic way
