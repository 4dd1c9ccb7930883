"""Capacity in numbers, for those who poll it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Capacity:
    """How many nodes there are.

    Attributes:
        delivered: recorded and not retired.
        healthy: admitted, and answered when last validated.
        reserved: a run holds them, or a person took them out.
        in_use: running jobs; null where only the scheduler knows.
    """

    delivered: int
    healthy: int
    reserved: int
    in_use: int | None
