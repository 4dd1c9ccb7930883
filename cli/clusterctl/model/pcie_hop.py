"""One PCIe link between a device and its root port, as it was while a command ran."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PcieHop:
    """One hop above one device. None = the kernel did not show it.

    Attributes:
        device: the PCI address of the device that is measured.
        lower, upper: the ends of the link; `upper` is empty where no port is visible above the device.
        samples: how often both values could be read.
        speed_gts: the best speed of all samples, in GT/s; `width`: the least number of lanes.
        most_speed_gts, most_width: what both ends can do.
    """

    device: str
    lower: str
    upper: str
    samples: int
    speed_gts: float | None
    width: int | None
    most_speed_gts: float | None
    most_width: int | None
