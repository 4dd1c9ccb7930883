"""What a page may weigh and how fast it must be, by number of nodes."""

from __future__ import annotations

from dataclasses import dataclass

KB, MB = 1000, 1_000_000


@dataclass(frozen=True, slots=True)
class Goal:
    """Limits of a page. `failures_ms`: from the start of navigation until the first failure is on the screen."""

    nodes: int
    size: int
    elements: int = 20_000
    failures_ms: float = 1000


GOALS = (Goal(6, 300 * KB), Goal(72, 1500 * KB), Goal(1000, 10 * MB))
# No limits are promised beyond; it is measured so that the growth is known.
LARGEST = 12_500
WIDTHS = {390: 844, 1280: 900, 2560: 1440}
