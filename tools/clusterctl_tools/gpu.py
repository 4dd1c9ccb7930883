"""The GPUs of a node as the tools of any vendor show them. A value that a vendor or a driver does not report is None."""

from dataclasses import dataclass
from typing import Optional, Tuple


class UnreadableGpuError(ValueError):
    """The vendor's tool or the kernel log cannot be read.

    Attributes:
        lost: the tool reports that a GPU is gone, which is a hardware fault and not a failure of the tool.
    """

    def __init__(self, reason: str, lost: bool = False) -> None:
        super().__init__(reason)
        self.lost = lost


@dataclass(frozen=True)
class EccCounts:
    """Errors counted since the driver was loaded (volatile) or in the GPU's life (aggregate); None = not reported."""

    sram_correctable: Optional[int]
    sram_uncorrectable: Optional[int]
    dram_correctable: Optional[int]
    dram_uncorrectable: Optional[int]


@dataclass(frozen=True)
class Gpu:
    """One GPU. Modes are `Enabled` or `Disabled`, flags `Yes` or `No`."""

    index: int
    bus_id: str
    serial: str
    model: str
    architecture: Optional[str]
    vbios: str
    memory_mib: Optional[int]
    persistence: Optional[str]
    ecc_current: Optional[str]
    ecc_pending: Optional[str]
    pcie_gen_max: Optional[int]
    pcie_width_current: Optional[int]
    pcie_width_max: Optional[int]
    mig_current: Optional[str]
    mig_pending: Optional[str]
    gsp_firmware: Optional[str]
    power_limit_w: Optional[float]
    power_min_w: Optional[float]
    power_max_w: Optional[float]
    fabric_state: Optional[str]
    fabric_status: Optional[str]
    fabric_clique: Optional[str]
    fabric_cluster: Optional[str]
    fabric_health: Optional[str]
    volatile: EccCounts
    aggregate: EccCounts
    sram_threshold_exceeded: Optional[str]
    remapped_uncorrectable: Optional[int]
    remap_pending: Optional[str]
    remap_failure: Optional[str]
    banks_without_rows: Optional[int]
    banks_with_few_rows: Optional[int]
    power_brake: Optional[str]
    fabric_problems: Optional[str]
    retired_pages: Optional[int]
    retirement_pending: Optional[str]
    recovery_action: Optional[str]
    compute_processes: Optional[int]


@dataclass(frozen=True)
class GpuLog:
    """The report of the driver.

    Attributes:
        runtime_version: the newest compute runtime (CUDA) that the driver supports; empty if not reported.
        attached: GPUs that the driver counts; may exceed the number that it can describe.
    """

    driver_version: str
    runtime_version: str
    attached: int
    gpus: Tuple[Gpu, ...]
