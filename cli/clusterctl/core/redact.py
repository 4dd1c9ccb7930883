"""Masks secrets in text before it is stored: by the name in front of them, and by value where the value is known. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

MASK = "********"
_NAMES = r"(?:password|passwd|passphrase|secret|token|api_?key|private_?key|credentials?)"
_NAMED = re.compile(rf"(?i)({_NAMES}(?:\\?[\"'])?\s*[:=]\s*)(\\?\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^\s,}}\"']+)")
_SECRET_NAME = re.compile(rf"(?i){_NAMES}$")
_SHORTEST = 6


@dataclass(frozen=True, slots=True)
class Redactor:
    """Masks secrets; `values` are masked wherever they occur."""

    values: tuple[str, ...] = ()

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Redactor:
        """A redactor that masks the values of all variables with a secret's name."""
        found = {v for k, v in environment.items() if _SECRET_NAME.search(k) and len(v) >= _SHORTEST}
        return cls(tuple(sorted(found, key=len, reverse=True)))

    def __call__(self, text: str) -> str:
        """`text` without secrets."""
        for value in self.values:
            text = text.replace(value, MASK)
        return _NAMED.sub(lambda m: m.group(1) + MASK, text)
