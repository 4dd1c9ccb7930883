"""How long a log may be silent while something runs: 30 seconds at first, then twice as long each time, five minutes at most. Pure."""

from __future__ import annotations

from dataclasses import dataclass

_FIRST_S = 30.0
_LONGEST_S = 300.0


@dataclass(slots=True)
class Pauses:
    """The time since the last line, on the clock of the caller."""

    last_line_s: float
    pause_s: float = _FIRST_S

    def over(self, now_s: float) -> bool:
        """Whether a progress line is due; if so, the next one is due after a longer pause."""
        if now_s - self.last_line_s < self.pause_s:
            return False
        self.last_line_s, self.pause_s = now_s, min(self.pause_s * 2, _LONGEST_S)
        return True

    def restart(self, now_s: float) -> None:
        """Something other than a progress line was printed."""
        self.last_line_s, self.pause_s = now_s, _FIRST_S
