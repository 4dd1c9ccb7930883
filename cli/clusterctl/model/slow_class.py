"""A class of devices that is slow as a whole: a result of the group, and of none of its nodes."""

from __future__ import annotations

from dataclasses import dataclass

from clusterctl.model.gate_reason import GateReason
from clusterctl.model.learned import DeviceClass  # noqa: TC001 pydantic evaluates the annotations


@dataclass(frozen=True, slots=True)
class SlowClass:
    """Equal devices of a run whose median is below what their baseline expects.

    Attributes:
        op, size_bytes: of the figure, as in `GateResult`.
        nodes: that the class has in this run; values: of nodes, or of their devices.
        median, expected: in `unit`; source: of the expectation.
        z: the difference by its standard error, which the spread and number of values on both sides give.
        simulated: the numbers come from a lab.
    """

    gate: str
    metric: str
    unit: str
    op: str
    size_bytes: int | None
    device_class: DeviceClass
    nodes: tuple[str, ...]
    values: int
    median: float
    expected: float
    source: str
    z: float
    simulated: bool = False
    reason: GateReason = GateReason.CLASS_SLOW

    @property
    def below(self) -> float:
        """Share of the expectation that is missing."""
        return 1 - self.median / self.expected
