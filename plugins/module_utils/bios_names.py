"""BIOS attribute names and values: equality across different spellings. Pure."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

_SUFFIX = re.compile(r"_[0-9A-F]{4}$")
_SAME = {"enabled": "enable", "disabled": "disable", "true": "1", "false": "0"}
_TRUE = frozenset({"1", "enable", "yes", "on"})
_FALSE = frozenset({"0", "disable", "no", "off"})


def canonical(name: str) -> str:
    """A name in the form of newer BIOS builds: ASCII only, other characters as `_` (`SR-IOVSupport` -> `SR_IOVSupport`)."""
    return re.sub(r"[^A-Za-z0-9]", "_", name.encode("ascii", "ignore").decode())


def matching(declared: str, known: Iterable[str]) -> list[str]:
    """All known names that match `declared`: the name itself, and those with a hexadecimal suffix (`SMTControl_00CB`)."""
    plain = canonical(declared)
    return sorted(n for n in known if plain in (canonical(n), _SUFFIX.sub("", canonical(n))))


def near(word: str, known: Iterable[str], count: int = 3) -> list[str]:
    """The known words closest to `word`, best first."""
    by_key = {_SUFFIX.sub("", canonical(n)).lower(): n for n in sorted(known, reverse=True)}
    key = canonical(word).lower()
    containing = sorted((k for k in by_key if key in k), key=len)
    chosen = dict.fromkeys([*containing, *difflib.get_close_matches(key, by_key, n=count, cutoff=0.6)])
    return [by_key[k] for k in chosen][:count]


def value_key(value: Any) -> str:
    """A key that is equal for all spellings of a value: "Enabled" and "Enable"; "1", 1, true and "true"."""
    text = str(value).strip().lower()
    return _SAME.get(text, text)


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal; an absent value (None) equals only None."""
    if one is None or other is None:
        return one is other
    return value_key(one) == value_key(other)


def as_bool(value: Any) -> bool | None:
    """A switch as true or false; None if the value is not a switch."""
    key = value_key(value)
    return True if key in _TRUE else False if key in _FALSE else None
