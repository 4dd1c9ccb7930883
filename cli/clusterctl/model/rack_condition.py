"""Whether a rack serves."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class RackCondition(StrEnum):
    """What a rack can be used for.

    Attributes:
        IN_SERVICE: every node is admitted.
        DEGRADED: some are; it serves with less.
        MAINTENANCE: none is, and people work on it.
        OUT_OF_SERVICE: none is.
    """

    IN_SERVICE = "in_service"
    DEGRADED = "degraded"
    MAINTENANCE = "maintenance"
    OUT_OF_SERVICE = "out_of_service"


@dataclass(frozen=True, slots=True)
class RackStatus:
    """A rack with its recorded nodes that are not retired."""

    name: str
    condition: RackCondition
    admitted: int
    nodes: int
