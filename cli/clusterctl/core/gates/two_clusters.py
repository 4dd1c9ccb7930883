"""Whether values that should be of one class are of two: a split in one dimension, with how far apart its sides are. Pure."""

from __future__ import annotations

from itertools import accumulate
from math import ceil, sqrt
from statistics import fmean
from typing import TYPE_CHECKING

from clusterctl.model.learned import Cluster

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# A cluster has a tenth of the nodes, two at least: fewer are outliers, which the peers of a burn-in name.
_SIDE, _LEAST = 0.1, 2
# No spread is taken for less than what a tool repeats to on one node, as a share of the centre.
_LEAST_SPREAD = 0.005
# Centres less than this share of the upper one apart are not two classes whatever the noise: a burn-in warns of nothing below it either.
_APART = 0.035
# The limit of Ashman's D is 2 for two fitted normal distributions. The best split of one class has 2.7 (normal) or 3.5 (uniform) already, and more by
# chance where it is small: 4 + 60 / n refuses one class of normal or uniform noise in at most 0.2 % of cases for 20 to 1,000 nodes (own simulation).
_LIMIT, _LIMIT_OF_FEW = 4.0, 60.0


def two_clusters(values: Mapping[str, float]) -> tuple[Cluster, Cluster] | None:
    """The lower and the upper cluster of values (node -> value > 0); None where they are one.

    The split is that with the least sum of squares within both sides (W. D. Fisher, On Grouping for Maximum Homogeneity, JASA 53, 1958). It counts where
    Ashman's D, sqrt(2) x |m1 - m2| / sqrt(s1^2 + s2^2), is above 4 + 60 / n (K. M. Ashman, C. M. Bird, S. E. Zepf, Detecting Bimodality in Astronomical
    Datasets, AJ 108, 1994, which takes 2 for fitted distributions), and the centres are 3.5 % apart.
    """
    order = sorted(values, key=lambda name: (values[name], name))
    side = max(_LEAST, ceil(_SIDE * len(order)))
    if len(order) < 2 * side:
        return None
    place = _best_split([values[name] for name in order], side)
    lower, upper = order[:place], order[place:]
    one, other = (fmean(values[name] for name in names) for names in (lower, upper))
    spreads = [_spread([values[name] for name in names]) for names in (lower, upper)]
    distance = sqrt(2) * (other - one) / sqrt(sum(s**2 for s in spreads))
    if other - one < _APART * other or distance <= _LIMIT + _LIMIT_OF_FEW / len(order):
        return None
    return Cluster(tuple(sorted(lower)), one), Cluster(tuple(sorted(upper)), other)


def _best_split(ordered: Sequence[float], side: int) -> int:
    """How many values are on the lower side: what lies between both sides is the most, so what lies within is the least."""
    total, n = fmean(ordered), len(ordered)
    sums = list(accumulate(value - total for value in ordered))
    return max(range(side, n - side + 1), key=lambda k: sums[k - 1] ** 2 / k + sums[k - 1] ** 2 / (n - k))


def _spread(values: Sequence[float]) -> float:
    """The standard deviation of a sample, 0.5 % of its mean at least."""
    centre = fmean(values)
    return max(sqrt(sum((v - centre) ** 2 for v in values) / (len(values) - 1)), _LEAST_SPREAD * centre)
