"""Rows that are alike become one row with its places: ten nodes with one fault are one thing to read. Pure."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from clusterctl.model.run_report import WORST_FIRST
from clusterctl_validators.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from clusterctl_validators.finding import Outcome

# So many different findings are listed; of more, the first with how many there are.
_LISTED = 3
_ITEM = re.compile(r"\[([^\]]*)\]")
_NUMBER = re.compile(r"\d+")
_BY_SEVERITY = {s: rank for rank, s in enumerate(Severity)}


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """One result at one place.

    Attributes:
        topic: the gate or the role.
        what: gate with rule and metric, or the check.
        device: the GPU, HCA or item of a check; empty where the node is meant.
        value: what was measured, in `unit`; None where nothing was.
        run: the earlier run that found it; empty = this run.
    """

    outcome: Outcome
    topic: str
    what: str
    node: str
    device: str = ""
    severity: Severity | None = None
    expected: str = ""
    found: str = ""
    source: str = ""
    detail: str = ""
    hint: str = ""
    value: float | None = None
    unit: str = ""
    simulated: bool = False
    run: str = ""

    @property
    def likeness(self) -> tuple[object, ...]:
        """What rows have in common that are shown as one: everything but the place and what was found there."""
        own = (_general(t, self.node, self.device) for t in (self.expected, self.source, self.hint))
        return (self.outcome, self.topic, pattern(self.what), self.severity, self.simulated, self.run, *own)


@dataclass(frozen=True)
class AlikeRows:
    """Rows with one likeness, by node and device; at least one."""

    rows: tuple[EvidenceRow, ...]
    first: EvidenceRow = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "first", self.rows[0])

    @cached_property
    def nodes(self) -> dict[str, tuple[str, ...]]:
        """Node -> its devices."""
        found: dict[str, list[str]] = {}
        for row in self.rows:
            devices = found.setdefault(row.node, [])
            if row.device:
                devices.append(row.device)
        return {node: tuple(devices) for node, devices in found.items()}

    @property
    def count(self) -> int:
        """How many rows it stands for."""
        return len(self.rows)

    @property
    def what(self) -> str:
        """The name that all share; where names differ, with `*` for what differs."""
        return self.first.what if len({r.what for r in self.rows}) == 1 else pattern(self.first.what)

    @property
    def found(self) -> str:
        """What was found: one text, a range of numbers, or the most frequent texts with their counts."""
        texts = Counter(r.found for r in self.rows)
        values = [r.value for r in self.rows if r.value is not None]
        if len(texts) > 1 and len(values) == len(self.rows) and len({r.unit for r in self.rows}) == 1:
            return f"{min(values):g} to {max(values):g} {self.first.unit}".rstrip()
        return _listed(texts)

    @property
    def detail(self) -> str:
        """The detail that all share, or the most frequent ones."""
        return _listed(Counter(r.detail for r in self.rows))

    @property
    def hint(self) -> str:
        """The next action; where it names a place, that of the first."""
        return self._for_first([r.hint for r in self.rows])

    @property
    def expected(self) -> str:
        """What was expected; where it names a place, that of the first."""
        return self._for_first([r.expected for r in self.rows])

    def _for_first(self, texts: Sequence[str]) -> str:
        first = self.first.node if len(self.nodes) > 1 else self.first.device
        if len(set(texts)) == 1:
            return texts[0]
        return f"{texts[0]} ({'' if first in texts[0] else f'{first}; '}the others likewise)"


def alike(rows: Iterable[EvidenceRow]) -> tuple[AlikeRows, ...]:
    """One entry for each likeness, worst first: outcome, severity, number of nodes."""
    groups: dict[tuple[object, ...], list[EvidenceRow]] = {}
    for row in rows:
        groups.setdefault(row.likeness, []).append(row)
    return tuple(sorted((AlikeRows(tuple(g)) for g in groups.values()), key=_worst_first))


def first_of_same_nodes(groups: Sequence[AlikeRows], most: int) -> tuple[tuple[AlikeRows, ...], tuple[AlikeRows, ...]]:
    """At most so many of the groups that concern the same nodes, and the others: one broken node must not hide the next."""
    shown: list[AlikeRows] = []
    others: list[AlikeRows] = []
    seen: Counter[tuple[str, ...]] = Counter()
    for group in groups:
        nodes = tuple(sorted(group.nodes))
        seen[nodes] += 1
        (shown if seen[nodes] <= most else others).append(group)
    return tuple(shown), tuple(others)


@lru_cache(maxsize=1 << 16)
def pattern(name: str) -> str:
    """A check's name without its items: `hugepages.pages[*].node*.running`."""
    return _NUMBER.sub("*", _ITEM.sub("[*]", name)) if "[" in name or "." in name else name


@lru_cache(maxsize=1 << 16)
def item(name: str) -> str:
    """The items of a check's name: `1G` of `hugepages.pages[1G].running`; empty where it has none."""
    return ", ".join(_ITEM.findall(name))


def _general(text: str, node: str, device: str) -> str:
    return text.replace(node, "\0n").replace(device, "\0d") if device else text.replace(node, "\0n")


def _listed(texts: Counter[str]) -> str:
    if len(texts) == 1:
        return next(iter(texts))
    most = sorted(texts, key=lambda t: (-texts[t], t))
    listed = "; ".join(f"{t or 'nothing'} ({texts[t]})" for t in most[:_LISTED])
    return f"{listed}; {len(most) - _LISTED} others" if len(most) > _LISTED else listed


def _worst_first(group: AlikeRows) -> tuple[object, ...]:
    severity = group.first.severity
    rank = -1 if severity is None else _BY_SEVERITY[severity]
    return (WORST_FIRST[group.first.outcome], rank, -len(group.nodes), group.first.topic, group.first.what, group.first.node)
