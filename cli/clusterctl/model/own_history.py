"""What a device measured in earlier runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterctl.model.gate_result import Figure, GateResult

# Rules whose value is a measurement of the device, not a count or a limit of something else.
VALUE_RULES = ("floor", "peers", "rate", "history")
# Fewer values are not a history, and older ones do not describe today.
LAST_RUNS = 5


@dataclass(frozen=True, slots=True)
class PastResult:
    """A stored result with a value.

    Attributes:
        run_id, run_at: the run that measured it, and when that started.
    """

    result: GateResult
    run_id: str
    run_at: str


@dataclass(frozen=True, slots=True, order=True)
class HistoryKey:
    """Values with equal keys are of one device, and comparable.

    Attributes:
        device: the HCA, for gates of pairs; empty where the value is the lowest of a node, whichever device it is of.
    """

    node: str
    device: str
    figure: Figure
    tool_version: str
    simulated: bool = False
