"""Counts of what is recorded against a machine or part. A module of its own: every command reads the limits in clusterctl.yml."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TroubleCounts:
    """How often each kind is recorded; or, as a limit, from how many on it is too often (0: never).

    Attributes:
        repeated_repairs: repairs after which it was excluded again within seven days.
    """

    exclusions: int = 0
    repairs: int = 0
    repeated_repairs: int = 0
    suspicions: int = 0
    collisions: int = 0
    link_flap_days: int = 0
    unplanned_boots: int = 0
