"""The burn-in levels."""

from __future__ import annotations

from typing import Literal

Level = Literal["quick", "standard", "full"]


FULL: Level = "full"
LEVELS: tuple[Level, ...] = ("quick", "standard", FULL)
