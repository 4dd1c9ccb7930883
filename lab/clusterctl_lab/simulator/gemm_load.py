"""Which GPUs multiply matrices now, and what that does to clock, power and temperature.

Rates: ubergemm of Azure (H100, GB300), the best matrix multiplication of stas00/ml-engineering where no run of it is public (A100, B200, GB200). Clocks,
power and temperatures under load are assumed: at the power limit, three quarters of the highest clock.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import machine, state
from .device_variation import variation_factor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .state import Faults

_BUSY = "gemm"
_CLOCK_MHZ = 1485.0
# Bits of `clocks_event_reasons.active` (nvml.h).
IDLE, POWER_CAP, HW_SLOWDOWN, HW_THERMAL = 0x1, 0x4, 0x8, 0x40


@dataclass(frozen=True)
class GpuLoad:
    """A GPU at this moment. `efficiency`: the share of its rate at that clock."""

    clock_mhz: int
    power_share: float
    temperature_c: int
    margin_c: int
    reasons: int
    efficiency: float = 1.0


@contextmanager
def loaded(index: int) -> Iterator[None]:
    """A GPU is under load inside; outside a lab node nothing happens."""
    folder = f"{state.RUN}/{_BUSY}"
    if not os.path.isdir(state.RUN):
        yield
        return
    os.makedirs(folder, exist_ok=True)
    own = f"{folder}/{index}.{os.getpid()}"
    with open(own, "w", encoding="ascii"):
        pass
    try:
        yield
    finally:
        os.unlink(own)


def is_loaded(index: int) -> bool:
    """Whether a running process loads this GPU."""
    folder = f"{state.RUN}/{_BUSY}"
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return any(os.path.exists(f"/proc/{name.partition('.')[2]}") for name in names if name.startswith(f"{index}."))


def under_load(index: int, faults: Faults) -> GpuLoad:
    """A GPU under load."""
    kinds = {fault.option for fault in faults.of("gpu_slow", str(index))}
    clock, reasons, temperature, margin = (
        _CLOCK_MHZ * variation_factor(os.uname().nodename, "clock", str(index), spread=0.01),
        POWER_CAP,
        62 + index,
        25 - index,
    )
    if "clock" in kinds:
        clock *= 0.6
    if "thermal" in kinds:
        clock, reasons, temperature, margin = clock * 0.5, HW_SLOWDOWN | HW_THERMAL, 90, -2
    return GpuLoad(round(clock), 0.99, temperature, margin, reasons, 0.35 if "rate" in kinds else 1.0)


def now(index: int, faults: Faults) -> GpuLoad:
    """A GPU as it is."""
    return under_load(index, faults) if is_loaded(index) else GpuLoad(345, 0.1, 30 + index, 57 - index, IDLE)


def rate_gflops(index: int, faults: Faults) -> float:
    """The rate of a GPU under load: it follows the clock."""
    load = under_load(index, faults)
    factor = variation_factor(os.uname().nodename, "gemm", str(index))
    return machine.THIS.gemm_tflops * 1000 * load.clock_mhz / _CLOCK_MHZ * load.efficiency * factor
