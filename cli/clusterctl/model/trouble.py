"""What is recorded against machines and parts over time, by their serials, and what it comes to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.model.gate_reason import GateReason
    from clusterctl.model.gate_result import Outcome
    from clusterctl.model.part import Part
    from clusterctl.model.records import TransitionRow
    from clusterctl.model.trouble_counts import TroubleCounts


class TroubleKind(StrEnum):
    """What is counted.

    EXCLUSION: it was taken out for a fault. REPAIR: it was admitted again after that. SUSPICION: a gate found it bad or doubtful, and the
    run did not exclude it for that. COLLISION: low with one partner and fine with another. LINK_FLAP: its link was lost again and again.
    UNPLANNED_BOOT: its scheduler took it out because it booted by itself, and it was as declared in that boot.
    """

    EXCLUSION = "exclusion"
    REPAIR = "repair"
    SUSPICION = "suspicion"
    COLLISION = "collision"
    LINK_FLAP = "link_flap"
    UNPLANNED_BOOT = "unplanned_boot"


@dataclass(frozen=True, slots=True)
class Trouble:
    """One recorded event against a node, or against one device of it; `at` is UTC as the store writes it."""

    node: str
    kind: TroubleKind
    at: str
    run_id: str = ""
    device: str = ""


@dataclass(frozen=True, slots=True)
class BadResult:
    """A stored gate result that is not a pass; `at` is the start of its run."""

    node: str
    run_id: str
    at: str
    gate: str
    outcome: Outcome
    reason: GateReason | None
    metric: str = ""
    device: str = ""


@dataclass(frozen=True, slots=True)
class PartSpan:
    """A part in a node until the start of the run that found another at its place; `ended_at` is empty for the present one."""

    node: str
    part: Part
    ended_at: str = ""


@dataclass(frozen=True, slots=True)
class TroubleSources:
    """What is recorded of some nodes, oldest first; `flaps` and `boots` as events already."""

    transitions: Sequence[TransitionRow] = ()
    results: Sequence[BadResult] = ()
    flaps: Sequence[Trouble] = ()
    parts: Sequence[PartSpan] = ()
    boots: Sequence[Trouble] = ()


class LemonAction(StrEnum):
    """What is due. FULL: a burn-in of level full before it serves again. RMA: repairs do not hold, so back to the vendor; where it is to serve all the same, as FULL."""

    NONE = "none"
    FULL = "full"
    RMA = "rma"


@dataclass(frozen=True, slots=True)
class TroubleRecord:
    """The record of one serial.

    Attributes:
        serial: of the machine or part; empty for a node of which no serial is recorded.
        kind: as `Part.kind`; `node` without a serial.
        node: where the newest event was.
        name: of the part there: `GPU 3`, `mlx5_0`; for a machine the node.
        score: the largest of count / limit over kinds and windows; from 1 on it is over its limit.
    """

    serial: str
    kind: str
    node: str
    name: str
    model: str
    days_30: TroubleCounts
    days_90: TroubleCounts
    score: float
    next_action: LemonAction
    last_at: str

    @property
    def over_limit(self) -> bool:
        """Whether a count has reached its limit."""
        return self.score >= 1
