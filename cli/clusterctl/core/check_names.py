"""Names of checks without the items in them. Pure."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# `[0]` in `hardware.gpu[0].fabric`.
ITEM = re.compile(r"\[[^\]]*\]")


def names_check(patterns: Iterable[str], check: str) -> bool:
    """Whether one of the patterns means `check` (`hardware.gpu.fabric*`: `hardware.gpu[0].fabric_health`)."""
    plain = ITEM.sub("", check)
    return any(fnmatchcase(plain, pattern) for pattern in patterns)
