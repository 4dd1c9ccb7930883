"""Leaves and the spines above them: which way a flow takes, and which ways are bad."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random


@dataclass(frozen=True)
class SpineLayer:
    """Every leaf has an uplink to each of `spines`, and each direction of a pair takes one by its hash.

    Attributes:
        per_leaf: nodes at a leaf; leaves_per_group: leaves below the same spines, 0 for all.
        bad_leaf, second_leaf: with an uplink that is bad in both directions; bad_group: with a spine that is; `rail`: on which; None for all.
        static: the way goes by the receiver alone, as InfiniBand's tables of a subnet manager do; otherwise by both ends, as ECMP does.
    """

    per_leaf: int = 32
    spines: int = 8
    leaves_per_group: int = 0
    bad_leaf: int | None = None
    second_leaf: int | None = None
    bad_group: int | None = None
    rail: int | None = None
    static: bool = False

    def __call__(self, one: str, other: str, rail: int) -> bool:
        """Whether a pair is low because of its way."""
        leaves = {self.leaf(one), self.leaf(other)}
        if len(leaves) == 1 or self.rail not in (None, rail):
            return False
        groups = {self.group(leaf) for leaf in leaves}
        if not leaves & {self.bad_leaf, self.second_leaf} and self.bad_group not in groups:
            return False
        flows = (one, other) if self.static else (f"{one}>{other}", f"{other}>{one}")
        return any(Random(f"{flow} {rail}").randrange(self.spines) == 0 for flow in flows)  # noqa: S311 a simulation

    def leaf(self, node: str) -> int:
        """The leaf of `n17`."""
        return int(node[1:]) // self.per_leaf

    def group(self, leaf: int) -> int:
        """The spines above a leaf."""
        return leaf // self.leaves_per_group if self.leaves_per_group else 0
