"""The BIOS of a machine as its BMC shows it: vendors, attribute names, values and firmware versions in their different spellings."""

import difflib
import re
from typing import Any, Iterable, List, Optional, Tuple

_SUFFIX = re.compile(r"_[0-9A-F]{4}$")
_SAME = {"enabled": "enable", "disabled": "disable", "true": "1", "false": "0"}
_TRUE = frozenset({"1", "enable", "yes", "on"})
_FALSE = frozenset({"0", "disable", "no", "off"})
# The first words of the names by which service roots, registries and systems call their vendor.
VENDOR_WORDS = {
    "dell": "dell",
    "hpe": "hpe",
    "hewlett": "hpe",
    "lenovo": "lenovo",
    "supermicro": "supermicro",
    "super micro": "supermicro",
    "ami": "ami",
    "american megatrends": "ami",
    "nvidia": "nvidia",
}


def vendor_of(texts: Iterable[Any]) -> str:
    """The vendor that the first known one of these names stands for; empty if none is known. The best source comes first."""
    named = [str(text).lower() for text in texts if text]
    return next((vendor for text in named for word, vendor in VENDOR_WORDS.items() if re.match(word + r"\b", text)), "")


def canonical(name: str) -> str:
    """A name in the form of newer BIOS builds: ASCII only, other characters as `_` (`SR-IOVSupport` -> `SR_IOVSupport`)."""
    return re.sub(r"[^A-Za-z0-9]", "_", name.encode("ascii", "ignore").decode())


def matching(declared: str, known: Iterable[str]) -> List[str]:
    """All known names that match `declared`: the name itself, and those with a hexadecimal suffix (`SMTControl_00CB`)."""
    plain = canonical(declared)
    return sorted(n for n in known if plain in (canonical(n), _SUFFIX.sub("", canonical(n))))


def near(word: str, known: Iterable[str], count: int = 3) -> List[str]:
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
    """Whether two values are equal: true is also "Enabled" and "Yes"; an absent value (None) equals only None."""
    if one is None or other is None:
        return one is other
    if isinstance(one, bool) or isinstance(other, bool):
        switch = as_bool(one)
        return switch is not None and switch is as_bool(other)
    return value_key(one) == value_key(other)


def as_bool(value: Any) -> Optional[bool]:
    """A switch as true or false; None if the value is not a switch."""
    key = value_key(value)
    return True if key in _TRUE else False if key in _FALSE else None


def bare_version(reported: str) -> str:
    """The version alone: Supermicro puts a date before that of a BIOS (`BIOS Date: 08/04/2023 Ver 1.4`)."""
    return re.sub(r"^BIOS Date: \S+ Ver ", "", reported.strip())


def version_parts(version: str) -> List[Tuple[int, int, str]]:
    """A version as comparable parts: numbers by value, words alphabetically, numbers after words."""
    return [(1, int(p), "") if p.isdigit() else (0, 0, p.lower()) for p in re.findall(r"\d+|[A-Za-z]+", version)]
