"""The circuit breaker: a fault that appears on half the pool at once is more likely a fault of ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection


@dataclass(frozen=True, slots=True)
class Breaker:
    """How much of a pool may be taken out in one window.

    The default, 50 % in 5 minutes, is that of NVIDIA's NVSentinel. One node may always go.

    Attributes:
        limit_percent: of the members at the start of the window.
        window_s: how far back removals count.
    """

    limit_percent: float = 50.0
    window_s: float = 300.0

    def allowance(self, members: Collection[str], removed: Collection[str]) -> int:
        """How many more nodes may go, with `members` in the pool and `removed` taken out in the window."""
        limit = max(1, int((len(members) + len(removed)) * self.limit_percent / 100))
        return max(0, limit - len(removed))

    def trips(self, members: Collection[str], removed: Collection[str], leaving: Collection[str]) -> bool:
        """Whether taking the members among `leaving` out would exceed the limit."""
        return len(set(leaving) & set(members)) > self.allowance(members, removed)

    def refusal(self, members: Collection[str], removed: Collection[str], leaving: Collection[str], *, doing: str) -> str:
        """Why the members among `leaving` may not be taken out now, or an empty string; nodes that are not members do not count."""
        if not self.trips(members, removed, leaving):
            return ""
        return (
            f"{doing} {len(set(members) & set(leaving))} of {len(members)} pool members would take out more than "
            f"{self.limit_percent:.0f} % within {self.window_s / 60:.0f} min"
        )
