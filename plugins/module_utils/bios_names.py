"""BIOS attribute names and values: what is the same although machines spell it differently. Pure."""

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
    """A name as newer BIOS builds write it: signs as `_`, nothing beyond ASCII (`SR-IOVSupport` -> `SR_IOVSupport`)."""
    return re.sub(r"[^A-Za-z0-9]", "_", name.encode("ascii", "ignore").decode())


def matching(declared: str, known: Iterable[str]) -> list[str]:
    """All known names that mean `declared`: the name itself, and those with a hexadecimal suffix (`SMTControl_00CB`)."""
    wanted = canonical(declared)
    return sorted(n for n in known if wanted in (canonical(n), _SUFFIX.sub("", canonical(n))))


def near(word: str, known: Iterable[str], count: int = 3) -> list[str]:
    """The known words that come closest to `word`, best first."""
    by_key = {_SUFFIX.sub("", canonical(n)).lower(): n for n in sorted(known, reverse=True)}
    wanted = canonical(word).lower()
    containing = sorted((k for k in by_key if wanted in k), key=len)
    chosen = dict.fromkeys([*containing, *difflib.get_close_matches(wanted, by_key, n=count, cutoff=0.6)])
    return [by_key[k] for k in chosen][:count]


def value_key(value: Any) -> str:
    """What two spellings of one value have in common: "Enabled" and "Enable", "1", 1, true and "true"."""
    text = str(value).strip().lower()
    return _SAME.get(text, text)


def same(one: Any, other: Any) -> bool:
    """Whether two values are one; an absent value (None) is like no other."""
    if one is None or other is None:
        return one is other
    return value_key(one) == value_key(other)


def as_bool(value: Any) -> bool | None:
    """A switch as true or false; None if it is no switch."""
    key = value_key(value)
    return True if key in _TRUE else False if key in _FALSE else None
