"""Ways to spoil a tool's output. None adds evidence of a good result: they cut, drop, repeat, replace numbers by what is none, and insert noise."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])")
# What real tools print where a number should be, and what no tool should.
NOT_FINITE = ("nan", "-nan", "inf", "-inf", "NaN", "Infinity", "-Infinity", "1e400")
NO_NUMBERS = (*NOT_FINITE, "N/A", "X" * 3 + "." + "X" * 2, "", "-1", "9" * 30, "9" * 310, "9" * 5000, "0x10", "١٢٣", "1,5")
UNITS = (("GB/s", "MB/s"), ("Gb/sec", "MB/sec"), ("us", "ms"), ("MiB", "GiB"), ("[Gb/sec]", "[MiB/sec]"))
NOISE = (
    "\x00",
    "\x1b[2J",
    "\x1b]0;title\x07",
    "\ufeff",
    "\r",
    "\u202e",
    "{",
    "[" * 3000,
    "a" * 20000,
    "#" * 500,
    "\n\n\n",
    '"',
    "\\u0000",
    "<gpu>",
)
VERSIONS = (("2.28.9", "2.19.3"), ("2.28.9", "3.0.0"), ("580.126.20", "999.1"), ('"version"', '"Version"'))


def cut(text: str, random: Random) -> str:
    """The beginning or the end only."""
    at = random.randrange(len(text) + 1)
    return text[:at] if random.random() < 0.8 else text[at:]


def drop_lines(text: str, random: Random) -> str:
    """Without some lines."""
    lines = text.splitlines(keepends=True)
    share = random.choice((0.02, 0.1, 0.5))
    return "".join(line for line in lines if random.random() > share)


def repeat_lines(text: str, random: Random) -> str:
    """Some lines twice."""
    return "".join(line * random.choice((1, 1, 1, 2)) for line in text.splitlines(keepends=True))


def swap_lines(text: str, random: Random) -> str:
    """Two lines in each other's place."""
    lines = text.splitlines(keepends=True)
    if lines:
        a, b = random.randrange(len(lines)), random.randrange(len(lines))
        lines[a], lines[b] = lines[b], lines[a]
    return "".join(lines)


def spoil_numbers(text: str, random: Random) -> str:
    """Some numbers replaced by what is none."""
    share = random.choice((0.05, 0.3, 1.0))
    return NUMBER.sub(lambda m: random.choice(NO_NUMBERS) if random.random() < share else m.group(0), text)


def lose_numbers(text: str, random: Random) -> str:
    """All numbers, or all with a fraction, replaced by one that is not finite."""
    value, fractions = random.choice(NOT_FINITE), random.random() < 0.5
    return NUMBER.sub(lambda m: m.group(0) if fractions and "." not in m.group(0) else value, text)


def other_units(text: str, random: Random) -> str:
    """Another unit, with the same numbers."""
    old, new = random.choice(UNITS)
    return text.replace(old, new)


def other_version(text: str, random: Random) -> str:
    """As another version would name itself."""
    old, new = random.choice(VERSIONS)
    return text.replace(old, new)


def noise(text: str, random: Random) -> str:
    """Control characters, brackets without end, very long lines."""
    at = random.randrange(len(text) + 1)
    return text[:at] + random.choice(NOISE) + text[at:]


def drop_bytes(text: str, random: Random) -> str:
    """A few characters lost in the middle."""
    at = random.randrange(len(text) + 1)
    return text[:at] + text[at + random.randrange(1, 40) :]


MUTATORS: tuple[Callable[[str, Random], str], ...] = (
    cut,
    drop_lines,
    repeat_lines,
    swap_lines,
    spoil_numbers,
    lose_numbers,
    other_units,
    other_version,
    noise,
    drop_bytes,
)


def mutate(text: str, random: Random) -> str:
    """One to three mutations, one after the other."""
    for _ in range(random.choice((1, 1, 2, 3))):
        text = random.choice(MUTATORS)(text, random)
    return text
