"""How much the error counters of a node may grow under the load of a burn-in. A counter that is not listed is recorded and not judged."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GrowthLimit:
    """The growth that is allowed: in total, or per minute between the two snapshots."""

    growth: int
    source: str
    per_minute: bool = False

    def over(self, minutes: float) -> float:
        """The growth allowed over a time; a limit per minute counts at least one."""
        return self.growth * max(minutes, 1.0) if self.per_minute else float(self.growth)


_MEMORY = "NVIDIA GPU Memory Error Management: reset or replace before further use"
_SOAK = "Azure thermal stress test: any thermal slowdown or power brake fails, the software power cap is normal"
_REPLAYS = "DCGM health watch: more than 8 PCIe replays per minute"
_CORRECTABLE = "assumed: no public limit; each replay is a correctable error, so the limit of replays"
_NVLINK = "facebookresearch/gcm check nvlink: 0 for replay, recovery and CRC errors"
_PORT = "limits of role infiniband (infiniband_counter_limits)"
_AER = "PCIe: an uncorrectable error loses a transaction"
_EDAC = "kernel EDAC: an uncorrectable error loses data"

DEFAULT_LIMITS: dict[str, GrowthLimit] = {
    **dict.fromkeys(("ecc_sram_uncorrectable", "ecc_dram_uncorrectable", "remapped_rows", "retired_pages"), GrowthLimit(0, _MEMORY)),
    **dict.fromkeys(("row_remap_pending", "row_remap_failure", "page_retirement_pending", "recovery_action"), GrowthLimit(0, _MEMORY)),
    **dict.fromkeys(("hw_therm_slowdown_us", "sw_therm_slowdown_us", "hw_power_brake_us"), GrowthLimit(0, _SOAK)),
    "pcie_replays": GrowthLimit(8, _REPLAYS, per_minute=True),
    **dict.fromkeys(("nvlink_replay_errors", "nvlink_recovery_errors", "nvlink_crc_errors"), GrowthLimit(0, _NVLINK)),
    **dict.fromkeys(("nvlink_rx_errors", "nvlink_rx_remote_errors", "nvlink_local_link_integrity_errors"), GrowthLimit(0, _NVLINK)),
    **dict.fromkeys(("nvlink_malformed_packet_errors", "nvlink_buffer_overrun_errors"), GrowthLimit(0, _NVLINK)),
    **dict.fromkeys(("symbol_error", "link_error_recovery", "link_downed"), GrowthLimit(0, _PORT)),
    **dict.fromkeys(("excessive_buffer_overrun_errors", "local_link_integrity_errors"), GrowthLimit(0, _PORT)),
    "port_rcv_errors": GrowthLimit(100, _PORT),
    "port_xmit_discards": GrowthLimit(1000, _PORT),
    "aer_fatal": GrowthLimit(0, _AER),
    "aer_nonfatal": GrowthLimit(0, _AER),
    "aer_correctable": GrowthLimit(8, _CORRECTABLE, per_minute=True),
    "ue_count": GrowthLimit(0, _EDAC),
}
