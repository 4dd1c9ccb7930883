"""Many node names in little text, as schedulers write them: `r12-n[01-04,07]`."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_NUMBERED = re.compile(r"(.*?)(\d+)", re.DOTALL)


def node_ranges(names: Iterable[str]) -> tuple[str, ...]:
    """One text for each group of names that differ in their last number only, in order of name."""
    keyed = sorted(((*_split(n), n) for n in set(names)), key=lambda k: (k[0], len(k[1]), k[1]))
    return tuple(_folded(prefix, [k[1] for k in group]) for (prefix, _), group in groupby(keyed, key=lambda k: (k[0], len(k[1]))))


def _split(name: str) -> tuple[str, str]:
    match = _NUMBERED.fullmatch(name)
    return (match[1], match[2]) if match else (name, "")


def _folded(prefix: str, numbers: Sequence[str]) -> str:
    if len(numbers) == 1:
        return prefix + numbers[0]
    spans: list[list[str]] = []
    for number in numbers:
        if spans and int(number) == int(spans[-1][-1]) + 1:
            spans[-1][1:] = [number]
        else:
            spans.append([number])
    return f"{prefix}[{','.join('-'.join(s) for s in spans)}]"
