"""What may leave the pool now, for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterctl.model.records import BreakerEvent


@dataclass(frozen=True, slots=True)
class PoolHeadroom:
    """The circuit breaker and the maintenance windows at one time.

    Attributes:
        removed: nodes that were taken out in the window of the breaker.
        may_leave: how many more may go without --force.
        window_open: whether planned work may start; without windows it always may.
        next_window: when the next one opens, in words; empty while one is open.
        events: the newest trips and resets, newest first.
    """

    limit_percent: float
    window_s: float
    members: int
    removed: tuple[str, ...]
    may_leave: int
    is_open: bool
    window_open: bool
    next_window: str
    events: tuple[BreakerEvent, ...]
