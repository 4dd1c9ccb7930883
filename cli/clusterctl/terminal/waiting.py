"""Which nodes of a validation have not answered yet, and for how long. Pure: the time comes in from outside."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clusterctl.model.running_text import duration_text, first_of

if TYPE_CHECKING:
    from clusterctl.model.provision import NodeQueried

_LONG_S = 10.0
_NAMED = 3


@dataclass(slots=True)
class Waiting:
    """The queries in progress.

    Attributes:
        total: nodes to query.
        answered: those whose last query has ended; a node may be queried again.
        since_s: node -> when its query began; only those without an answer.
    """

    total: int
    answered: set[str] = field(default_factory=set)
    since_s: dict[str, float] = field(default_factory=dict)

    def follow(self, query: NodeQueried, now_s: float) -> None:
        """Take in what a provisioning run reports."""
        if query.answered:
            self.end(query.node)
        else:
            self.start(query.node, now_s)

    def start(self, node: str, now_s: float) -> None:
        """A query begins."""
        self.since_s[node] = now_s
        self.answered.discard(node)

    def end(self, node: str) -> None:
        """It ended, with an answer or without."""
        self.since_s.pop(node, None)
        self.answered.add(node)

    def text(self, now_s: float) -> str:
        """`5 of 6 nodes answered, waiting for r12-n04 (35 s)`; names the three that take longest, from ten seconds on."""
        ages = sorted(((now_s - since, node) for node, since in self.since_s.items() if now_s - since >= _LONG_S), reverse=True)
        named = first_of([f"{node} ({duration_text(age)})" for age, node in ages], _NAMED)
        count = f"{len(self.answered)} of {self.total} nodes answered" if self.total > 1 else ""
        waiting = f"waiting for {named}" if named else ""
        return ", ".join(part for part in (count, waiting) if part)
