"""Rules for the memory health of a GPU.

Sources of the rules: NVIDIA GPU Memory Error Management (row remapping, SRAM threshold, RMA policy), NVIDIA's manual of nvidia-smi (repairs,
unrepairable memory) and Azure's node health check `azure_gpu_ecc.nhc` (volatile counts).
"""

from dataclasses import dataclass
from typing import Iterator, Optional

from clusterctl_tools.gpu import Gpu

# What a flag may be; `Unknown Error`, `GPU requires reset` and the like are not evidence of a fault of the memory.
_FLAGS = ("Yes", "No")
_RESET = "drain the node, reset the GPU or reboot, then burn in again"
_RMA = "run the field diagnostic and RMA the GPU"


@dataclass(frozen=True)
class Limits:
    """Thresholds: how many errors a GPU may have counted, as declared."""

    volatile_sram_correctable: int
    volatile_dram_correctable: int
    aggregate_sram_uncorrectable: int
    aggregate_dram_uncorrectable: int
    remapped_rows: int
    retired_pages: int


@dataclass(frozen=True)
class MemoryRule:
    """One comparison.

    Attributes:
        name: last part of the check id.
        found: None if this GPU does not report it, or something that it cannot be.
        expected: the maximum, or the required text.
        hint: the next action if the rule is broken.
    """

    name: str
    found: "Optional[int | str]"
    expected: "int | str"
    hint: str

    @property
    def holds(self) -> bool:
        """Whether the GPU meets this rule; never for a value that is not reported."""
        if isinstance(self.expected, int):
            return isinstance(self.found, int) and self.found <= self.expected
        return self.found == self.expected


def _flag(text: Optional[str]) -> Optional[str]:
    return text if text in _FLAGS else None


def memory_rules(gpu: Gpu, limits: Limits) -> Iterator[MemoryRule]:
    """The rules for one GPU: page retirement for parts that have it, row remapping for Ampere and later."""
    now, life = gpu.volatile, gpu.aggregate
    yield MemoryRule("ecc.volatile.sram_uncorrectable", now.sram_uncorrectable, 0, _RESET)
    yield MemoryRule("ecc.volatile.dram_uncorrectable", now.dram_uncorrectable, 0, _RESET)
    yield MemoryRule("ecc.volatile.sram_correctable", now.sram_correctable, limits.volatile_sram_correctable, _RESET)
    yield MemoryRule("ecc.volatile.dram_correctable", now.dram_correctable, limits.volatile_dram_correctable, _RESET)
    yield MemoryRule("ecc.aggregate.sram_uncorrectable", life.sram_uncorrectable, limits.aggregate_sram_uncorrectable, _RMA)
    yield MemoryRule("ecc.aggregate.dram_uncorrectable", life.dram_uncorrectable, limits.aggregate_dram_uncorrectable, _RMA)
    if gpu.sram_threshold_exceeded is not None:
        yield MemoryRule("ecc.aggregate.sram_threshold_exceeded", _flag(gpu.sram_threshold_exceeded), "No", _RMA)
    if gpu.unrepairable_memory is not None:
        yield MemoryRule("unrepairable_memory", _flag(gpu.unrepairable_memory), "No", _RMA)
    if gpu.channel_repair_pending is not None:
        yield MemoryRule("channel_repair_pending", _flag(gpu.channel_repair_pending), "No", _RESET)
    if gpu.tpc_repair_pending is not None:
        yield MemoryRule("tpc_repair_pending", _flag(gpu.tpc_repair_pending), "No", _RESET)
    if gpu.retired_pages is not None and gpu.remapped_uncorrectable is None:
        yield MemoryRule("retired_pages.count", gpu.retired_pages, limits.retired_pages, _RMA)
        yield MemoryRule("retired_pages.pending", _flag(gpu.retirement_pending), "No", _RESET)
    else:
        yield MemoryRule("row_remap.uncorrectable", gpu.remapped_uncorrectable, limits.remapped_rows, _RMA)
        yield MemoryRule("row_remap.pending", _flag(gpu.remap_pending), "No", _RESET)
        yield MemoryRule("row_remap.failure", _flag(gpu.remap_failure), "No", _RMA)
        if gpu.banks_without_rows is not None:
            # NVML: `none` = a bank without a spare row. The next uncorrectable error in it is a remap failure, NVIDIA's criterion of an RMA.
            yield MemoryRule("row_remap.banks_without_spare_rows", gpu.banks_without_rows, 0, _RMA)
