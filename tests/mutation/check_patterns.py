"""Patterns of check ids: `<name>` captures a part, `*` matches any text."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_PARTS = re.compile(r"<(\w+)>|(\*)")


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    text, at, seen = "", 0, set()
    for part in _PARTS.finditer(pattern):
        text += re.escape(pattern[at : part.start()])
        name = part[1]
        if name is None:
            text += ".*"
        elif name in seen:
            text += f"(?P={name})"
        else:
            seen.add(name)
            text += f"(?P<{name}>.+?)"
        at = part.end()
    return re.compile(text + re.escape(pattern[at:]))


def match_pattern(pattern: str, check: str) -> dict[str, str] | None:
    """The captured parts of a check id; None if the pattern does not match the whole id."""
    found = _compiled(pattern).fullmatch(check)
    return found.groupdict() if found else None


def fill_pattern(pattern: str, parts: Mapping[str, str]) -> str:
    """Replace the `<name>`s in a pattern that are in `parts`."""
    return re.sub(r"<(\w+)>", lambda m: parts.get(m[1], m[0]), pattern)
