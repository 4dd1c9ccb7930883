"""The GPUs of a node as the tools of any vendor show them. A value that a vendor or a driver does not report is None."""

from dataclasses import dataclass
from typing import Optional, Tuple


class UnreadableGpuError(ValueError):
    """The vendor's tool or the kernel log cannot be read.

    Attributes:
        lost: the tool reports that a GPU is gone, which is a hardware fault and not a failure of the tool.
        address: PCI address of the lost GPU, as the vendor's counters name it; empty where the tool names none.
    """

    def __init__(self, reason: str, lost: bool = False, address: str = "") -> None:
        super().__init__(reason)
        self.lost, self.address = lost, address


@dataclass(frozen=True)
class EccCounts:
    """Errors counted since the driver was loaded (volatile) or in the GPU's life (aggregate); None = not reported."""

    sram_correctable: Optional[int] = None
    sram_uncorrectable: Optional[int] = None
    dram_correctable: Optional[int] = None
    dram_uncorrectable: Optional[int] = None


@dataclass(frozen=True)
class Gpu:
    """One GPU. Modes are `Enabled` or `Disabled`, flags `Yes` or `No`."""

    index: int
    bus_id: str
    serial: str
    model: str
    architecture: Optional[str] = None
    vbios: str = ""
    memory_mib: Optional[int] = None
    persistence: Optional[str] = None
    ecc_current: Optional[str] = None
    ecc_pending: Optional[str] = None
    pcie_gen_max: Optional[int] = None
    pcie_width_current: Optional[int] = None
    pcie_width_max: Optional[int] = None
    mig_current: Optional[str] = None
    mig_pending: Optional[str] = None
    gsp_firmware: Optional[str] = None
    power_limit_w: Optional[float] = None
    power_min_w: Optional[float] = None
    power_max_w: Optional[float] = None
    fabric_state: Optional[str] = None
    fabric_status: Optional[str] = None
    fabric_clique: Optional[str] = None
    fabric_cluster: Optional[str] = None
    fabric_health: Optional[str] = None
    volatile: EccCounts = EccCounts()
    aggregate: EccCounts = EccCounts()
    sram_threshold_exceeded: Optional[str] = None
    remapped_uncorrectable: Optional[int] = None
    remap_pending: Optional[str] = None
    remap_failure: Optional[str] = None
    banks_without_rows: Optional[int] = None
    banks_with_few_rows: Optional[int] = None
    channel_repair_pending: Optional[str] = None
    tpc_repair_pending: Optional[str] = None
    unrepairable_memory: Optional[str] = None
    power_brake: Optional[str] = None
    fabric_problems: Optional[str] = None
    retired_pages: Optional[int] = None
    retirement_pending: Optional[str] = None
    recovery_action: Optional[str] = None
    compute_processes: Optional[int] = None
    compute_mode: Optional[str] = None
    power_profiles: Optional[str] = None


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


@dataclass(frozen=True)
class GpuPart:
    """The identity of a GPU. `serial` as the tool prints it; `bus_id` as sysfs writes it (`0000:18:00.0`)."""

    index: int
    bus_id: str
    model: str
    serial: str


@dataclass(frozen=True)
class GpuUnderLoad:
    """One GPU at one moment.

    Attributes:
        margin_c: degrees below the temperature at which it slows down; negative above it.
        slowdowns: the vendor's names of what holds its clock back now, of those that no healthy GPU shows.
        idle: nothing runs on it.
        held_back: it holds its clock back in software because it is too warm.
        braked: the hardware holds it back for the power supply's sake, and not for heat.
        clock_setting: clocks that a user set limit it.
    """

    index: int
    bus_id: str
    clock_mhz: Optional[float]
    power_w: Optional[float]
    power_limit_w: Optional[float]
    temperature_c: Optional[float]
    margin_c: Optional[float]
    memory_temperature_c: Optional[float]
    slowdowns: Tuple[str, ...]
    idle: bool
    held_back: bool
    braked: bool = False
    clock_setting: bool = False
