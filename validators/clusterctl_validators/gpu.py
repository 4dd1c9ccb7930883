"""The GPUs of a node, independent of their vendor: the data of a vendor's tools, and advice about faults.

Checks and burn-in use only these types; `gpu_vendor` selects the reader. A value that a vendor or driver does not report is None.
"""

from dataclasses import dataclass
from typing import Dict, FrozenSet, List, Optional, Protocol, Tuple


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


@dataclass(frozen=True)
class GpuEvent:
    """An error of a GPU, or of a switch between GPUs, in the kernel log.

    Attributes:
        time: as logged, with the year; empty if the log has none.
        pci: address of the GPU or switch, as logged.
        code: the vendor's number for the error.
        harmless: the vendor requires no action on the node.
        action: the next action.
        blames_application: the vendor suspects the program that ran; where that is known to work, it is the GPU.
        lost_data: a memory error that was contained in one program.
    """

    time: str
    pci: str
    code: int
    detail: str
    harmless: bool
    action: str
    blames_application: bool = False
    lost_data: bool = False


@dataclass(frozen=True)
class GpuEvents:
    """The errors since boot, in the order of the log."""

    gpus: Tuple[GpuEvent, ...]
    switches: Tuple[GpuEvent, ...]


@dataclass(frozen=True)
class GpuAdvice:
    """The next action for faults without an error code of one GPU. `{gpu}` stands for the GPU, or for the node."""

    missing: str
    fabric: str
    links: str
    switch: str
    persistence: str
    row_remap: str
    stress: str
    corruption: str
    slow_copy: str
    slow_collective: str
    wrong_domain: str
    unusable_domain: str
    refused_multicast: str
    no_sharp: str
    fabric_not_ready: str


class GpuReader(Protocol):
    """Reads the GPUs of one node through a vendor's tools.

    Attributes:
        tool: the program that `query` runs, for messages.
        near_paths: the paths of `hca_paths` that stay within a PCIe switch.
    """

    tool: str
    near_paths: FrozenSet[str]
    advice: GpuAdvice

    def query(self) -> GpuLog:
        """Driver and GPUs. Raises UnreadableGpuError if the tool fails or its output is unexpected."""

    def on_pci(self) -> List[str]:
        """The folders in sysfs of the GPUs of this vendor on the PCI bus."""

    def active_links(self) -> Dict[int, Dict[int, float]]:
        """GPU index -> active link to other GPUs -> its rate in GB/s in one direction. Raises UnreadableGpuError as `query`."""

    def hca_paths(self) -> Dict[str, Dict[int, str]]:
        """HCA -> GPU index -> the path between them. Raises UnreadableGpuError as `query`."""

    def events(self) -> GpuEvents:
        """The errors in the kernel log of this boot. Raises UnreadableGpuError if no log can be read."""

    def ecc_command(self, index: int, enabled: bool) -> str:
        """The command that sets ECC of a GPU."""

    def power_command(self, index: int, limit_w: float) -> str:
        """The command that sets the power limit of a GPU."""
