"""How likely it is by chance that so many links of one part of the fabric are low. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, lgamma, log

# Assumed: three meetings of a hundred are low by a collision on the way, with nothing wrong at either end. No public source states it.
COLLISIONS = 0.03
# A part that is at fault is at least so many times as often low as collisions and as the others: one of 32 uplinks is, and the others may have another one.
_TIMES, _TIMES_OTHERS = 3, 2


@dataclass(frozen=True, slots=True)
class LowShare:
    """`low` of `of` links."""

    low: int
    of: int

    def without(self, part: LowShare) -> LowShare:
        """The rest, where `part` is a part of it."""
        return LowShare(self.low - part.low, self.of - part.of)

    @property
    def share(self) -> float:
        """Low ones of all; 0 where there are none."""
        return self.low / self.of if self.of else 0.0


def chance(own: LowShare, others: LowShare) -> float:
    """The probability of as many low links as `own` has, or more, by collisions alone; 1 where there are not far more than usual.

    The larger one of two: if collisions were as frequent as assumed (binomial), and if own and other links were low equally often (Fisher's exact test).
    Without other links nothing stands out.
    """
    if own.share < max(_TIMES * COLLISIONS, _TIMES_OTHERS * others.share):
        return 1.0
    return max(_binomial(own, COLLISIONS), _fisher(own, others))


def _binomial(own: LowShare, rate: float) -> float:
    return sum(exp(_log_choose(own.of, low) + low * log(rate) + (own.of - low) * log(1 - rate)) for low in range(own.low, own.of + 1))


def _fisher(own: LowShare, others: LowShare) -> float:
    """The upper tail of the hypergeometric distribution."""
    low, every = own.low + others.low, own.of + others.of
    base = _log_choose(every, own.of)
    most = min(low, own.of)
    return sum(exp(_log_choose(low, k) + _log_choose(every - low, own.of - k) - base) for k in range(own.low, most + 1))


def _log_choose(of: int, some: int) -> float:
    return lgamma(of + 1) - lgamma(some + 1) - lgamma(of - some + 1)
