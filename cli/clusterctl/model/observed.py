"""What observed checks and gates found over time, and how often a repeat had another result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterctl_validators.finding import Outcome


@dataclass(frozen=True, slots=True)
class Observed:
    """One observed item on one node in one run.

    Attributes:
        name: id of the check, or the gate.
        rule: of the gate; empty for a check.
        at: when the check ran, or the start of the run of the gate.
        outcome: that it had; PASS where the gate was measured and the rule found nothing.
    """

    node: str
    name: str
    rule: str
    run_id: str
    at: str
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class ObservedRecord:
    """What is known of an observed item before it decides.

    Attributes:
        runs: how often it was seen, over all nodes; `nodes`: on how many.
        failed, could_not_run: in how many of these it would have held the node back.
        repeated: failures after which it was seen again on the same node, with no repair in between.
        contradicted: those of `repeated` in which the repeat passed.
    """

    name: str
    rule: str
    nodes: int
    runs: int
    failed: int
    could_not_run: int
    repeated: int
    contradicted: int

    @property
    def flake_rate(self) -> float | None:
        """Share of the repeated failures that the repeat denied; None without a repeat."""
        return self.contradicted / self.repeated if self.repeated else None
