"""Which values of a metric are the better ones, and what the limit on the bad side is called. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from clusterctl.model.gate_reason import GateReason


@dataclass(frozen=True, slots=True)
class Direction:
    """Higher values are better (bandwidth), or lower ones (latency).

    Attributes:
        sign: between a good value and its limit; rule, reason: of a comparison with the limit.
        peers_rule, peers_reason: of a comparison with equal devices.
        limit: the limit, for people; bad, worst: a value beyond it, and the worst of several.
        beside: on which side of a median a bad value is.
    """

    higher_is_better: bool
    sign: str
    rule: str
    reason: GateReason
    peers_rule: str
    peers_reason: GateReason
    limit: str
    bad: str
    worst: str
    beside: str

    def rank(self, value: float) -> float:
        """Greater for a better value."""
        return value if self.higher_is_better else -value

    def reaches(self, value: float, limit: float) -> bool:
        """Whether a value is at its limit or better."""
        return self.rank(value) >= self.rank(limit)


HIGHER_IS_BETTER = Direction(
    higher_is_better=True,
    sign=">=",
    rule="floor",
    reason=GateReason.BELOW_FLOOR,
    peers_rule="peers",
    peers_reason=GateReason.BELOW_PEERS,
    limit="floor",
    bad="low",
    worst="lowest",
    beside="below",
)
# Rules of their own: what reads `floor` and `peers` of earlier runs, of other runs or of margins takes a lower value for a worse one.
LOWER_IS_BETTER = Direction(
    higher_is_better=False,
    sign="<=",
    rule="upper_limit",
    reason=GateReason.ABOVE_LIMIT,
    peers_rule="upper_peers",
    peers_reason=GateReason.ABOVE_PEERS,
    limit="upper limit",
    bad="high",
    worst="highest",
    beside="above",
)
