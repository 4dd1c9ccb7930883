"""What `status --textfile` exports of the record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.model.gate_result import Outcome
    from clusterctl.model.overview import Overview
    from clusterctl.model.trouble import TroubleRecord


@dataclass(frozen=True, slots=True)
class MeasuredOutcome:
    """An outcome in the newest measurement of a gate on a node; a gate has several on a node with several devices."""

    node: str
    gate: str
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class FleetFigures:
    """The record of a target at one moment.

    Attributes:
        measured: the outcomes of the gates, of the nodes of the target.
        lemons: the serials over a limit.
        breaker_open: nothing more may leave the pool until a person resets the circuit breaker.
    """

    overview: Overview
    measured: Sequence[MeasuredOutcome]
    lemons: Sequence[TroubleRecord]
    breaker_open: bool
