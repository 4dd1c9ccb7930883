"""What healthy hardware shows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Noise:
    """Relative standard deviations of healthy hardware.

    Attributes:
        binning: the clocks of GPUs at their power cap differ by so much from the slowest to the fastest.
        disks: of the read bandwidth of equal disks. Assumed: Oracle's check takes 2 % from the median (oci-hpc, active_healthcheck.py), no vendor states how far good disks differ.
        corrected: the share of ports and PCIe devices that count one to four errors, received or corrected, before the load, and again under it. Assumed: no public numbers of an hour.
        collisions: the share of the meetings of two adapters that read between 60 and 95 % of the line rate, with nothing wrong at either end.
    """

    perftest: float = 0.003
    nccl: float = 0.005
    gemm: float = 0.01
    copies: float = 0.003
    binning: float = 0.08
    collisions: float = 0.03
    corrected: float = 0.1
    disks: float = 0.01
